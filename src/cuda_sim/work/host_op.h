// SPDX-License-Identifier: Apache-2.0
// A function of the program's own, called in stream order; and the op of a node whose memory is
// gone.
#pragma once

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

class HostOp final : public Op {
 public:
  explicit HostOp(const HostWork& work) : Op(Lane::host), work_(work) {}

  void perform(std::uint64_t, std::uint64_t) override {
    in_host_function() = true;
    if (work_.callback != nullptr) {
      work_.callback(work_.stream, CUDA_SUCCESS, work_.data);
    } else {
      work_.function(work_.data);
    }
    in_host_function() = false;
  }
  const char* name() const override { return "a host function"; }

 private:
  const HostWork work_;
};

/// A graph's copy whose memory was freed since the graph was made.
class IllegalOp final : public Op {
 public:
  IllegalOp() : Op(Lane::compute) {}
  bool resolve() override { return false; }
  const char* name() const override { return "a copy node"; }
};

}  // namespace nvs::sim
