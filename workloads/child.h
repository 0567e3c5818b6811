// SPDX-License-Identifier: Apache-2.0
// A process that cannot be left behind: it is killed with its whole process group when its owner
// goes away, and by the kernel when this process dies without a chance to do so.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::workloads {

// Where a child finds the socket to its parent.
inline constexpr int kChildStatusFd = 3;

class Child {
 public:
  // `command` is the program's path and its arguments; `environment` is added to ours, as
  // NAME=value. The child has no input; all that it prints comes out of output_fd(). It must be
  // started by a thread that outlives it.
  static Result<Child> start(const std::vector<std::string>& command,
                             const std::vector<std::string>& environment);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) = delete;
  ~Child();

  // Both do not block. The socket goes both ways.
  int status_fd() const { return status_.get(); }
  int output_fd() const { return output_.get(); }
  void close_status() { status_.reset(); }
  void close_output() { output_.reset(); }

  pid_t pid() const { return pid_; }
  // Asks it to end, where kill() makes it.
  void terminate();
  void kill();
  // True once the child has ended; it does not wait.
  bool has_ended();
  // "ended with code 3", "was killed by signal 9 (Killed)"; after the end.
  std::string how_it_ended() const;

 private:
  Child(pid_t pid, UniqueFd status, UniqueFd output);

  pid_t pid_;
  bool ended_ = false;
  int wait_status_ = 0;
  UniqueFd status_;
  UniqueFd output_;
};

}  // namespace nvs::workloads
