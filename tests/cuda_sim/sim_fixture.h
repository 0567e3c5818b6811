// SPDX-License-Identifier: Apache-2.0
// A simulated machine for one test, and the processes on it. A process joins a machine once and for
// good when it initialises the driver, so the test itself never loads the driver: its processes do,
// after the fork.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.h"
#include "tests/cuda_sim/line.h"

namespace nvs::sim_test {

using Environment = std::map<std::string, std::string>;

/// What the machine's ledger says of one GPU, to a process that has nothing on it.
struct Books {
  unsigned long long bytes = 0;
  unsigned processes = 0;  // those other than the one that asked
  unsigned contexts = 0;
  unsigned long long violations = 0;
  bool operator==(const Books&) const = default;
};

void PrintTo(const Books& books, std::ostream* out);

class SimMachine {
 public:
  /// A small and quick card unless `settings` say otherwise.
  explicit SimMachine(Environment settings = {});
  /// Expects that no file is left behind.
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  const Environment& settings() const { return settings_; }
  const std::string& name() const { return name_; }
  bool segment_exists() const;
  /// Asks in a process of its own, which also removes the segment if nobody else is left.
  Books books(int gpu = 0) const;

 private:
  std::string name_;
  Environment settings_;
};

class SimProcess {
 public:
  using Body = std::function<void(Line&)>;

  /// Starts a process that runs `body` and exits: with 0 if it threw nothing and all its
  /// expectations held.
  SimProcess(const SimMachine& machine, const Body& body, const Environment& more = {});
  /// Kills a process that still runs. Expects that no sanitizer has found anything in it.
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  Line& line() { return line_; }
  pid_t pid() const { return pid_; }
  void send(int signal) const;
  /// SIGKILL, and gone when this returns.
  void kill();
  /// Waits for the end. The exit status, or minus the signal.
  int wait();
  /// What it has written to standard error so far.
  std::string errors() const;

 private:
  pid_t pid_ = 0;
  bool ended_ = false;
  int status_ = 0;
  Line line_;
  UniqueFd errors_;
};

/// Runs `body` in a process of its own and expects it to exit with 0. What it wrote to standard
/// error.
std::string run_process(const SimMachine& machine, const SimProcess::Body& body,
                        const Environment& more = {});

/// The library under test: $NVSHARE_TEST_LIB, or the one that was just built.
const char* library_path();

}  // namespace nvs::sim_test
