// SPDX-License-Identifier: Apache-2.0
// The case `seeds`: the tests of the projects that nvshare grew from, on GPUs of 16 GB as theirs
// were, with their figures beside. Tasks are shorter than theirs, so that what is compared is how
// many times as long as one alone a task takes.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class SeedsCase : public Case {
 public:
  std::string name() const override { return "seeds"; }
  std::string summary() const override {
    return "tests 0 to 6 and the quotas of the seeds, which ran on two T4s: a table of each";
  }
  std::string preset() const override { return "t4"; }
  unsigned gpus() const override { return 2; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
