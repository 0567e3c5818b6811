// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/log_file.h"

#include <errno.h>

#include "os/linux_calls.h"

namespace nvs::interposer::debug {
namespace {

constexpr int kMode = 0600;
constexpr unsigned kTries = 10;
// Appending keeps the lines of several threads and processes whole. A pipe that nobody reads must
// not hold the program up.
constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

using Path = Text<kPathMax>;

// A program that has closed its standard output must not write into our log by that number.
long above_standard_files(long fd) {
  constexpr int kLowest = 3;
  if (fd < 0 || fd >= kLowest) return fd;
  const long higher = os::system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLowest);
  os::close_file(static_cast<int>(fd));
  return higher;
}

long try_open(Path& path, int flags, LogFile& file) {
  const char* text = path.c_str();
  __builtin_memcpy(file.path, text, path.size() + 1);
  if (path.truncated()) return -ENAMETOOLONG;
  return above_standard_files(os::open_file(text, flags, kMode));
}

void expand(const char* named, int process, Path& path) {
  for (; *named != '\0'; ++named) {
    if (named[0] == '%' && named[1] == 'p') {
      path.number(static_cast<unsigned>(process));
      ++named;
    } else {
      path.append(*named);
    }
  }
}

// A new file, and no link: anybody can write to /tmp.
long open_new(int process, LogFile& file) {
  long result = -EEXIST;
  for (unsigned i = 0; i < kTries && result == -EEXIST; ++i) {
    Path path;
    path.append("/tmp/nvshare-").number(static_cast<unsigned>(process)).append(".log");
    if (i > 0) path.append('.').number(i);
    result = try_open(path, kFlags | O_EXCL | O_NOFOLLOW, file);
  }
  return result;
}

}  // namespace

void open_log_file(const char* named, int process, LogFile& file) {
  long result = 0;
  if (named == nullptr || *named == '\0') {
    result = open_new(process, file);
  } else {
    Path path;
    expand(named, process, path);
    result = try_open(path, kFlags, file);
  }
  if (result < 0) {
    file.error = static_cast<int>(-result);
  } else {
    file.fd = static_cast<int>(result);
  }
}

TextBuffer& append_error(TextBuffer& text, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return text.append("permission denied");
    case ENOENT:
    case ENOTDIR:
      return text.append("no such folder");
    case EISDIR:
      return text.append("is a folder");
    case EEXIST:
      return text.append("exists already");
    case EROFS:
      return text.append("read-only file system");
    case ENOSPC:
      return text.append("no space left");
    case ENXIO:
      return text.append("nobody reads this pipe");
    case ENAMETOOLONG:
      return text.append("name too long");
    default:
      return text.append("error ").number(static_cast<unsigned>(error));
  }
}

}  // namespace nvs::interposer::debug
