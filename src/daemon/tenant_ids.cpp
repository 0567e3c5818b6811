// SPDX-License-Identifier: Apache-2.0
// The file is a journal, since tenants come and go while others wait for their windows: a line is
// added for each, `+NUMBER KEY` or `-NUMBER`, and the whole is written anew only when most of it is
// about tenants that have left. Then `=NUMBER` keeps the last number that was given.
#include "daemon/tenant_ids.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/unique_fd.h"
#include "daemon/limits.h"
#include "os/file_text.h"

namespace nvs::daemon {
namespace {

Result<void> put(const std::string& path, int how, std::string_view text) {
  const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | how, 0600)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "the file cannot be opened"));
  while (!text.empty()) {
    const ssize_t done = ::write(fd.get(), text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return tl::unexpected(Error::from_errno(errno, "the file cannot be written"));
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

std::string joined(std::uint64_t id, const std::string& key) {
  return "+" + std::to_string(id) + " " + key + "\n";
}

}  // namespace

TenantIds TenantIds::load(const std::string& folder, std::string& remark) {
  TenantIds ids;
  ids.path_ = folder + "/tenant_ids";
  const Result<std::string> text = os::read_file(ids.path_, kTenantIdsBytesMax);
  if (text) {
    ids.read(*text, remark);
  } else if (text.error().sys != ENOENT) {
    remark = ids.path_ + " cannot be read: " + text.error().message() +
             "; tenants get other numbers than before";
  }
  ids.note(ids.rewrite());
  return ids;
}

void TenantIds::read(std::string_view text, std::string& remark) {
  std::size_t wrong = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // A line without an end is one that did not fit on the disk.
    if (end == std::string_view::npos || !read_line(text.substr(0, end))) ++wrong;
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  if (wrong > 0) remark = path_ + ": lines that are not understood: " + std::to_string(wrong);
  forget_surplus();
}

bool TenantIds::read_line(std::string_view line) {
  std::uint64_t id = 0;
  const char* end = line.data() + line.size();
  if (line.size() < 2) return false;
  const auto [rest, error] = std::from_chars(line.data() + 1, end, id);
  // So far below the end of numbers that nobody gets there from it.
  if (error != std::errc{} || id == 0 || id > UINT64_MAX / 2) return false;
  const std::string_view key(rest, static_cast<std::size_t>(end - rest));
  const auto of_id = [id](const auto& entry) { return entry.second == id; };
  if (line[0] == '+' && key.size() > 1 && key[0] == ' ') {
    if (std::any_of(of_key_.begin(), of_key_.end(), of_id)) return false;
    of_key_[std::string(key.substr(1))] = id;
  } else if (line[0] == '-' && key.empty()) {
    std::erase_if(of_key_, of_id);
  } else if (line[0] != '=' || !key.empty()) {
    return false;
  }
  last_ = std::max(last_, id);
  return true;
}

// Tenants that ended while no daemon ran are not known to have. The newest are the likeliest to be
// there still.
void TenantIds::forget_surplus() {
  if (of_key_.size() <= kTenantIdsMax) return;
  std::vector<std::uint64_t> ids;
  for (const auto& [key, id] : of_key_) ids.push_back(id);
  const auto oldest_kept = ids.end() - static_cast<std::ptrdiff_t>(kTenantIdsMax);
  std::nth_element(ids.begin(), oldest_kept, ids.end());
  std::erase_if(of_key_,
                [least = *oldest_kept](const auto& entry) { return entry.second < least; });
}

core::TenantId TenantIds::take(const std::string& key) {
  const auto found = of_key_.find(key);
  if (found != of_key_.end()) return static_cast<core::TenantId>(found->second);
  of_key_[key] = ++last_;
  write(joined(last_, key));
  return static_cast<core::TenantId>(last_);
}

void TenantIds::release(const std::string& key) {
  const auto found = of_key_.find(key);
  if (found == of_key_.end()) return;
  const std::string line = "-" + std::to_string(found->second) + "\n";
  of_key_.erase(found);
  write(line);
}

void TenantIds::write(const std::string& line) {
  if (path_.empty()) return;
  const bool is_mostly_past = lines_ > 2 * of_key_.size() + kTenantIdsSpareLines;
  // After a failure the file lacks lines, and may end with half of one.
  if (is_mostly_past || has_failed_) return note(rewrite());
  ++lines_;
  note(put(path_, O_APPEND, line));
}

Result<void> TenantIds::rewrite() {
  std::string text = "=" + std::to_string(last_) + "\n";
  if (last_ == 0) text.clear();
  for (const auto& [key, id] : of_key_) text += joined(id, key);
  const std::string fresh = path_ + ".new";
  Result<void> written = put(fresh, O_TRUNC, text);
  if (written && std::rename(fresh.c_str(), path_.c_str()) != 0)
    written = tl::unexpected(Error::from_errno(errno, "the file cannot be replaced"));
  if (!written) ::unlink(fresh.c_str());
  lines_ = of_key_.size() + 1;
  return written;
}

void TenantIds::note(const Result<void>& written) {
  if (!written && !has_failed_) {
    log(Level::error, "numbers of tenants cannot be saved: a restart would give them to others",
        {{"file", path_}, {"error", written.error().message()}});
  }
  has_failed_ = !written;
}

}  // namespace nvs::daemon
