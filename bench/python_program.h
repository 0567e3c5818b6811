// SPDX-License-Identifier: Apache-2.0
// PyTorch as a tenant: runs tq.py, which saturates a GPU for some seconds and prints its rate, from
// a folder that the command line names. A machine without PyTorch leaves these rows out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bench/child.h"
#include "bench/daemon_process.h"
#include "bench/program.h"

namespace nvs::bench {

// Processes of tq.py that were started.
class PythonRun {
 public:
  // Sleeps until so long before their common start, or (below 0) after it.
  void wait_for_start(double before_s) const;
  std::vector<pid_t> pids() const;
  // Waits for their ends: what each got done, in iterations a second.
  std::vector<double> rates() const;

 private:
  friend class PythonPrograms;
  double start_ = 0;  // Unix time
  double seconds_ = 0;
  std::vector<std::unique_ptr<Program>> programs_;
};

inline constexpr const char* kPython = "python3";

class PythonPrograms {
 public:
  // Throws Failure if there is no tq.py in the folder.
  explicit PythonPrograms(const std::string& folder);

  // Empty if python3 can use a GPU through PyTorch, else why not.
  std::string missing() const;

  // Where tq.py lies.
  const std::string& tq() const { return program_; }

  // A process in each of these environments, which works for so many seconds from a common start,
  // when all of them are ready; or as soon as it is.
  enum class Start { common, at_once };
  PythonRun start(const std::string& kind, double seconds,
                  const std::vector<Child::Environment>& each, Start start) const;

 private:
  std::string program_;
  TemporaryFolder folder_;
};

// The rate in what tq.py printed. Throws Failure if there is none.
double rate_printed(const std::string& text);

}  // namespace nvs::bench
