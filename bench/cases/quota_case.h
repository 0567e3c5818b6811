// SPDX-License-Identifier: Apache-2.0
// The cases of caps on GPU time. `quota`: several tenants, whose caps add up to the GPU or to more,
// change while they run, or stand beside a tenant in a hurry. `quota-alone` and `quota-shapes`: one
// tenant, which no other keeps from having more, with kernels of every shape. `quota-python`:
// PyTorch.
#pragma once

#include "bench/case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

class QuotaCase : public Case {
 public:
  std::string name() const override { return "quota"; }
  std::string summary() const override {
    return "tenants with caps on GPU time together: what each gets, and changes while they run";
  }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

class QuotaAloneCase : public Case {
 public:
  std::string name() const override { return "quota-alone"; }
  std::string summary() const override { return "one tenant with a cap from 10 to 90 %"; }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

class QuotaShapesCase : public Case {
 public:
  std::string name() const override { return "quota-shapes"; }
  std::string summary() const override {
    return "one tenant with a cap, whose kernels are tiny or take 200 ms";
  }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

class QuotaPythonCase : public Case {
 public:
  std::string name() const override { return "quota-python"; }
  std::string summary() const override {
    return "PyTorch with caps together (needs --python): what each gets";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
