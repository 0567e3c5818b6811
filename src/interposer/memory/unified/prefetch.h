// SPDX-License-Identifier: Apache-2.0
// Carries Unified Memory to a GPU, ahead of the work that will use it, on a stream of our own.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::unified {

// In some context of the GPU, which does not end while this lives.
class Prefetch {
 public:
  explicit Prefetch(int gpu);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Returns when it is there. What fails is left to the driver, which carries it when it is used.
  void bring(std::uint64_t address, std::uint64_t bytes) const;

 private:
  int gpu_;
  int index_ = -1;  // in the table of contexts; -1: there is none, and nothing is brought
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace nvs::interposer::unified
