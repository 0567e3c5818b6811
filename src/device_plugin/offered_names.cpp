// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/offered_names.h"

#include <algorithm>
#include <vector>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/unique_fd.h"
#include "device_plugin/library_install.h"
#include "os/file_text.h"

namespace nvs::plugin {
namespace {

// The longest name of a resource is 253 + 1 + 63 characters.
constexpr std::size_t kNamesBytesMax = kOfferedNamesMax * 512;

std::string names_path(const std::string& root) { return root + "/" + kOfferedNamesFile; }

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The folder's, since the file is replaced whenever it is written, and the lock beside it is shared
// by plugins for as long as they run.
Result<UniqueFd> lock_names(const std::string& root) {
  UniqueFd fd{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "its folder cannot be opened"));
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return tl::unexpected(Error::from_errno(errno, "flock"));
  }
  return fd;
}

}  // namespace

Result<void> remember_offered(const std::string& root, const std::set<std::string>& names) {
  // Another plugin may be at it, and each would write what it has read and its own.
  const UniqueFd lock = NVS_TRY(lock_names(root));
  const auto before = os::read_file(names_path(root), kNamesBytesMax);
  // To begin anew would be to forget.
  if (!before && before.error().sys != ENOENT) return tl::unexpected(before.error());
  std::string text;
  std::vector<std::string> known = names_in(before.value_or(""));
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  known.resize(std::min(known.size(), kOfferedNamesMax));
  for (const std::string& name : known) text += name + "\n";
  if (before && *before == text) return {};
  return write_atomically(names_path(root), text, 0644);
}

std::optional<std::set<std::string>> offered_ever(const std::string& root) {
  const auto text = os::read_file(names_path(root), kNamesBytesMax);
  if (!text) return std::nullopt;
  const std::vector<std::string> names = names_in(*text);
  if (names.size() >= kOfferedNamesMax) return std::nullopt;
  return std::set<std::string>(names.begin(), names.end());
}

}  // namespace nvs::plugin
