// SPDX-License-Identifier: Apache-2.0
// The case `recover`: a tenant or the daemon fails in one of the ways that must be expected, beside
// a tenant that has done nothing wrong. What counts is how long that one gets nothing done.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class RecoverCase : public Case {
 public:
  std::string name() const override { return "recover"; }
  std::string summary() const override {
    return "one of two tenants or the daemon fails: when the other one gets something done again";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
