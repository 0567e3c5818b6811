// SPDX-License-Identifier: Apache-2.0
// PyTorch as a tenant: runs tq.py, which saturates a GPU for some seconds and prints its rate, from
// a folder that the command line names. A machine without PyTorch leaves these rows out.
#pragma once

#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/daemon_process.h"

namespace nvs::bench {

class PythonPrograms {
 public:
  // Throws Failure if there is no tq.py in the folder.
  explicit PythonPrograms(const std::string& folder);

  // Empty if python3 can use a GPU through PyTorch, else why not.
  std::string missing() const;

  // What each of some processes gets done, in iterations a second, from a common start.
  std::vector<double> rates(const std::string& kind, double seconds,
                            const std::vector<Child::Environment>& each) const;

 private:
  std::string program_;
  TemporaryFolder folder_;
};

// The rate in what tq.py printed. Throws Failure if there is none.
double rate_printed(const std::string& text);

}  // namespace nvs::bench
