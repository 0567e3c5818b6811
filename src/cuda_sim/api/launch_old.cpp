// SPDX-License-Identifier: Apache-2.0
// Entry points: launching as in CUDA 3, where a function carries its block shape and parameters and
// a launch names the grid alone.
#include <cstring>

#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

constexpr std::size_t kParameterBytesMax = 4096;

// Calls `change` with what the function carries, under the lock.
template <class F>
CUresult change(CUfunction handle, F&& change) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  return function ? change(function->launch_state) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult set_parameter(CUfunction handle, int offset, const void* value, std::size_t bytes) {
  if (value == nullptr || offset < 0) return CUDA_ERROR_INVALID_VALUE;
  const auto begin = static_cast<std::size_t>(offset);
  if (bytes > kParameterBytesMax || begin > kParameterBytesMax - bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return change(handle, [&](LaunchState& state) {
    if (state.parameters.size() < begin + bytes) state.parameters.resize(begin + bytes);
    std::memcpy(state.parameters.data() + begin, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launch(CUfunction handle, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  LaunchState state;
  const CUresult result = change(handle, [&](LaunchState& current) {
    state = current;
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  std::size_t size = state.parameter_bytes;
  state.parameters.resize(size);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, state.parameters.data(),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(handle, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                        state.block[0], state.block[1], state.block[2], state.shared_bytes, stream,
                        nullptr, size == 0 ? nullptr : extra);
}

}  // namespace

NVS_SIM(cuFuncSetBlockShape, (CUfunction function, int x, int y, int z), function, x, y, z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return change(function, [&](LaunchState& state) {
    state.block[0] = static_cast<unsigned>(x);
    state.block[1] = static_cast<unsigned>(y);
    state.block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
  });
}

NVS_SIM(cuFuncSetSharedSize, (CUfunction function, unsigned int bytes), function, bytes) {
  return change(function, [&](LaunchState& state) {
    state.shared_bytes = bytes;
    return CUDA_SUCCESS;
  });
}

NVS_SIM(cuParamSetSize, (CUfunction function, unsigned int bytes), function, bytes) {
  if (bytes > kParameterBytesMax) return CUDA_ERROR_INVALID_VALUE;
  return change(function, [&](LaunchState& state) {
    state.parameter_bytes = bytes;
    return CUDA_SUCCESS;
  });
}

NVS_SIM(cuParamSeti, (CUfunction function, int offset, unsigned int value), function, offset,
        value) {
  return set_parameter(function, offset, &value, sizeof value);
}

NVS_SIM(cuParamSetf, (CUfunction function, int offset, float value), function, offset, value) {
  return set_parameter(function, offset, &value, sizeof value);
}

NVS_SIM(cuParamSetv, (CUfunction function, int offset, void* value, unsigned int bytes), function,
        offset, value, bytes) {
  return set_parameter(function, offset, value, bytes);
}

NVS_SIM(cuLaunch, (CUfunction function), function) { return launch(function, 1, 1, nullptr); }

NVS_SIM(cuLaunchGrid, (CUfunction function, int width, int height), function, width, height) {
  return launch(function, width, height, nullptr);
}

NVS_SIM(cuLaunchGridAsync, (CUfunction function, int width, int height, CUstream stream), function,
        width, height, stream) {
  return launch(function, width, height, stream);
}
