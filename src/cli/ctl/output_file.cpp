// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/output_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs::cli {
namespace {

constexpr mode_t kRights = 0666;  // less the umask
constexpr mode_t kAllRights = 07777;

tl::unexpected<Error> cannot(const char* what) {
  return tl::unexpected(Error::from_errno(errno, what));
}

Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// What is written may be refused as late as here.
Result<void> close_written(UniqueFd fd) {
  if (::close(fd.release()) != 0) return cannot("close");
  return {};
}

Result<void> write_in_place(const std::string& path, std::string_view text) {
  UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kRights)};
  if (!fd) return cannot("open");
  NVS_TRY(write_all(fd.get(), text));
  return close_written(std::move(fd));
}

Result<void> write_draft(UniqueFd fd, std::string_view text, const struct stat* before) {
  NVS_TRY(write_all(fd.get(), text));
  if (before != nullptr) {
    // Only root may give it to its owner, and it may be without.
    [[maybe_unused]] const int given = ::fchown(fd.get(), before->st_uid, before->st_gid);
    if (::fchmod(fd.get(), before->st_mode & kAllRights) != 0) return cannot("fchmod");
  }
  return close_written(std::move(fd));
}

// Where a file of this name is to be; nothing if it is to be written as it is.
std::optional<std::string> place_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path named = std::filesystem::canonical(path, error);
  return error ? std::nullopt : std::optional(named.string());
}

}  // namespace

Result<void> write_output_file(const std::string& path, std::string_view text) {
  struct stat before {};
  const bool is_there = ::stat(path.c_str(), &before) == 0;
  const std::optional<std::string> place = place_of(path);
  if (!place || (is_there && !S_ISREG(before.st_mode))) return write_in_place(path, text);
  const std::string draft = *place + "." + std::to_string(::getpid()) + ".new";
  UniqueFd fd{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kRights)};
  const bool may_make = fd || (errno != EACCES && errno != EPERM && errno != ENAMETOOLONG);
  if (!may_make) return write_in_place(path, text);
  if (!fd) return cannot("open");
  Result<void> done = write_draft(std::move(fd), text, is_there ? &before : nullptr);
  if (done && std::rename(draft.c_str(), place->c_str()) != 0) done = cannot("rename");
  if (!done) ::unlink(draft.c_str());
  return done;
}

}  // namespace nvs::cli
