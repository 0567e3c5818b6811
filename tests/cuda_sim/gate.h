// SPDX-License-Identifier: Apache-2.0
// A host function that holds its stream up until it is opened: the one way to stand still at a
// certain point of a stream without a guess about time.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/cuda_sim/gpu.h"

namespace nvs::sim_test {

class Gate {
 public:
  /// Puts the gate into a stream and waits until the stream stands before it.
  void close(const Gpu& gpu, CUstream stream) {
    NVS_MUST(gpu->cuLaunchHostFunc(stream, &Gate::stand, this));
    while (!reached_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void open() { open_.store(true); }

 private:
  static void stand(void* gate) {
    auto& self = *static_cast<Gate*>(gate);
    self.reached_.store(true);
    while (!self.open_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::atomic<bool> reached_{false};
  std::atomic<bool> open_{false};
};

}  // namespace nvs::sim_test
