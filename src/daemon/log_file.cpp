// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::daemon {

bool empty_if_long(int fd, off_t bytes_max) {
  struct stat found {};
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= bytes_max)
    return false;
  const int flags = ::fcntl(fd, F_GETFL);
  const bool is_at_end = flags >= 0 && (flags & O_APPEND) != 0;
  return is_at_end && ::ftruncate(fd, 0) == 0;
}

}  // namespace nvs::daemon
