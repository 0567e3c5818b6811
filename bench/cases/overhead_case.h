// SPDX-License-Identifier: Apache-2.0
// The cases `overhead` and, with PyTorch under the daemon, `overhead-python`: what libnvshare.so
// costs a program that has the GPU to itself, without a daemon and under one. The same calls are
// made bare and with the library preloaded; instructions are counted, so the figure that has the
// target is the same on every machine, and rates are shown beside it.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class OverheadCase : public Case {
 public:
  std::string name() const override { return "overhead"; }
  std::string summary() const override {
    return "what the preloaded library adds to a call: instructions, rates, memory";
  }
  void run(const Bench& bench) const override;
};

class OverheadPythonCase : public Case {
 public:
  std::string name() const override { return "overhead-python"; }
  std::string summary() const override {
    return "PyTorch as one tenant under the daemon, of bare (needs --python)";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
