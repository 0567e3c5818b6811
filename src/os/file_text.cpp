// SPDX-License-Identifier: Apache-2.0
#include "os/file_text.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs::os {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "open"));
  std::string text;
  std::array<char, 4096> buffer;  // NOLINT(*-member-init): read() fills it
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(Error::from_errno(errno, "read"));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return tl::unexpected(Error{Errc::kLimit, 0, "the file is too long"});
    }
  }
}

}  // namespace nvs::os
