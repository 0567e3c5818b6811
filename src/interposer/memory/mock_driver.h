// SPDX-License-Identifier: Apache-2.0
// A scripted driver for tests of the hooks: every function of it returns what the test says, hands
// out the number that the test says, and is written down by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cuda_api/cuda.h"

namespace nvs::interposer::memory {

struct MockDriver {
  // What calls that allocate, free, create and destroy return, and hand out if they succeed.
  CUresult result = CUDA_SUCCESS;
  std::uint64_t given = 0;
  std::uint64_t pitch = 0;
  std::function<void()> during;  // called from inside such a call

  // Answers to questions.
  CUresult answer = CUDA_SUCCESS;
  CUcontext current = nullptr;
  CUdevice device = 0;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  int primary_active = 0;
  std::uint64_t range_bytes = 0;
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

  std::vector<std::string> calls;
  CUstream asked_stream = nullptr;
};

// The one driver that install_mock_driver() makes real, as new.
MockDriver& mock_driver();
void install_mock_driver();

// A handle of any type with this value.
template <class Handle>
Handle handle_of(std::uint64_t value) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(value));
}

}  // namespace nvs::interposer::memory
