// SPDX-License-Identifier: Apache-2.0
// tq.py in a process that stays, and works when it is asked to: two of them can take turns of a
// fraction of a second, so that what drifts between processes that are started one after the other
// does not count.
#pragma once

#include <optional>
#include <string>

#include "bench/child.h"

namespace nvs::bench {

class PythonTurns {
 public:
  // `tq` is the path of tq.py; `bench` is this program, or where it lies.
  PythonTurns(const std::string& tq, const std::string& kind, const Child::Environment& environment,
              const std::string& bench = Child::kThisProgram);

  // Until it has loaded PyTorch. Throws Failure if it does not get so far.
  void wait_until_ready();
  // Has it work for so long, at once or from an instant of unix_seconds() on. finish() must follow:
  // iterations a second, as tq.py prints them.
  void start(double seconds, std::optional<double> at = std::nullopt);
  double finish();
  double rate(double seconds);

 private:
  Child child_;
  bool ready_ = false;
  double due_s_ = 0;  // from start() to the answer
};

// The clock of common starts: tq.py compares it with Python's time.time().
double unix_seconds();

// What the child runs: it turns into Python.
inline constexpr const char* kPythonTurnsRole = "python-turns";
void run_python_turns(ParentLink& parent, const nlohmann::json& config);

}  // namespace nvs::bench
