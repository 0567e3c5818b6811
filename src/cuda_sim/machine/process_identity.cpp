// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/process_identity.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs::sim {
namespace {

struct Stat {
  char state = 'X';
  long threads = 0;
  std::uint64_t start_time = 0;
};

// Fields of /proc/PID/stat after the command, which may itself hold spaces and parentheses.
bool read_stat(std::int32_t pid, Stat& out) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd fd{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!fd) return false;
  char text[1024];
  const ssize_t size = ::read(fd.get(), text, sizeof text - 1);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* cursor = std::strrchr(text, ')');
  if (cursor == nullptr || cursor[1] == '\0' || cursor[2] == '\0') return false;
  cursor += 2;
  out.state = *cursor;
  for (int field = 3; field < 22; ++field) {
    if (field == 20) out.threads = std::strtol(cursor, nullptr, 10);
    cursor = std::strchr(cursor, ' ');
    if (cursor == nullptr) return false;
    ++cursor;
  }
  out.start_time = std::strtoull(cursor, nullptr, 10);
  return true;
}

}  // namespace

ProcessIdentity own_identity() {
  ProcessIdentity identity{.pid = ::getpid(), .start_time = 0};
  Stat stat;
  if (read_stat(identity.pid, stat)) identity.start_time = stat.start_time;
  return identity;
}

Liveness liveness(const ProcessIdentity& identity) {
  Stat stat;
  if (!read_stat(identity.pid, stat) || stat.start_time != identity.start_time) {
    return Liveness::dead;
  }
  // The first thread of a process may end before the others: it is a zombie with company, and not
  // dead.
  const bool zombie = stat.state == 'Z' || stat.state == 'X';
  if (zombie && stat.threads <= 1) return Liveness::dead;
  return stat.state == 'T' || stat.state == 't' ? Liveness::stopped : Liveness::alive;
}

}  // namespace nvs::sim
