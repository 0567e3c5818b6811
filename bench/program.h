// SPDX-License-Identifier: Apache-2.0
// Runs other programs beside a measurement: the daemon, a Python program. They end with the
// benchmark, however it ends, and what they print lies in a file, to be shown when something fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/child.h"

namespace nvs::bench {

class Program {
 public:
  // `name` is how messages call it. Standard output and error both go to the file `log`.
  Program(std::string name, const std::vector<std::string>& command, std::string log,
          const Child::Environment& extra);

  pid_t pid() const { return child_->pid(); }
  bool running() const { return !child_->exited(); }
  // Asks it to end, as a service manager does.
  void terminate();
  // Waits for its end: the exit code, or 128 + the signal that killed it. Throws Failure past the
  // time.
  int wait(double timeout_s);
  std::string printed() const;
  // The last of what it printed, for an error message.
  std::string last_lines() const;

 private:
  std::string name_;
  std::string log_;
  std::unique_ptr<Child> child_;
};

// What the child runs: it turns into the program.
inline constexpr const char* kProgramRole = "program";
void run_program(ParentLink& parent, const nlohmann::json& config);

}  // namespace nvs::bench
