// SPDX-License-Identifier: Apache-2.0
// The cases of caps on GPU time. `quota`: several tenants, whose caps add up to the GPU or to more,
// or change while they run. `quota-high`: one beside a tenant in a hurry. `quota-alone` and
// `quota-shapes`: one tenant, which no other keeps from having more, with kernels of every shape.
// `quota-python`: PyTorch.
#pragma once

#include "bench/case.h"
#include "bench/cases/latency_case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

class QuotaCase : public Case {
 public:
  std::string name() const override { return "quota"; }
  std::string summary() const override {
    return "tenants with caps on GPU time together: what each gets, and changes while they run";
  }
  unsigned gpus() const override { return 2; }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

class QuotaHighCase : public Case {
 public:
  std::string name() const override { return "quota-high"; }
  std::string summary() const override {
    return "small requests of high priority beside a tenant with a cap: both get what is promised";
  }
  double time_factor() const override { return kLatencyTimeFactor; }
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
