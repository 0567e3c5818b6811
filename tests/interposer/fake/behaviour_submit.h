// SPDX-License-Identifier: Apache-2.0
// Launches, copies and captures of the fake driver: who is inside of them is counted, and a launch
// does what the program told it to do.
#pragma once

#include <set>

#include "tests/interposer/fake/behaviour.h"

namespace nvs::fake {

/// The streams that capture now.
struct Captures {
  std::mutex mutex;
  std::set<CUstream> streams;  // under mutex
};
inline Captures& captures() {
  static Captures& all = *new Captures;
  return all;
}
inline CUresult tell_capture(CUstream stream, CUstreamCaptureStatus* status) {
  const std::lock_guard lock(captures().mutex);
  *status = captures().streams.count(stream) != 0 ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                  : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

inline CUresult launch(unsigned number) {
  const Inside inside;
  {
    const std::lock_guard lock(state().mutex);
    state().launched.push_back(number);
  }
  if (auto* action = state().action.load()) action(state().action_argument.load());
  return CUDA_SUCCESS;
}

struct Launch {
  static CUresult act(CUfunction, unsigned grid, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, CUstream, void**, void**) {
    return launch(grid);
  }
};
template <>
struct Act<Row::cuLaunchKernel> : Launch {};
template <>
struct Act<Row::cuLaunchKernel_ptsz> : Launch {};

struct LaunchEx {
  static CUresult act(const CUlaunchConfig* config, CUfunction, void**, void**) {
    return launch(config->gridDimX);
  }
};
template <>
struct Act<Row::cuLaunchKernelEx> : LaunchEx {};
template <>
struct Act<Row::cuLaunchKernelEx_ptsz> : LaunchEx {};

/// A submission that says nothing of interest but that it is one.
struct Submission {
  template <class... Arguments>
  static CUresult act(Arguments...) {
    const Inside inside;
    return CUDA_SUCCESS;
  }
};
template <>
struct Act<Row::cuGraphLaunch> : Submission {};
template <>
struct Act<Row::cuMemcpyHtoD_v2> : Submission {};
template <>
struct Act<Row::cuMemcpyDtoH_v2> : Submission {};
template <>
struct Act<Row::cuMemcpyHtoDAsync_v2> : Submission {};
template <>
struct Act<Row::cuMemcpyDtoHAsync_v2> : Submission {};
template <>
struct Act<Row::cuMemsetD8_v2> : Submission {};
template <>
struct Act<Row::cuMemsetD32Async> : Submission {};

template <>
struct Act<Row::cuStreamBeginCapture_v2> {
  static CUresult act(CUstream stream, CUstreamCaptureMode) {
    const std::lock_guard lock(captures().mutex);
    return captures().streams.insert(stream).second ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
  }
};

template <>
struct Act<Row::cuStreamEndCapture> {
  static CUresult act(CUstream stream, CUgraph* graph) {
    const std::lock_guard lock(captures().mutex);
    if (captures().streams.erase(stream) == 0) return CUDA_ERROR_ILLEGAL_STATE;
    *graph = reinterpret_cast<CUgraph>(fresh_number());
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuStreamIsCapturing> {
  static CUresult act(CUstream stream, CUstreamCaptureStatus* status) {
    return tell_capture(stream, status);
  }
};

struct CaptureInfo {
  template <class... Rest>
  static CUresult act(CUstream stream, CUstreamCaptureStatus* status, Rest...) {
    return tell_capture(stream, status);
  }
};
template <>
struct Act<Row::cuStreamGetCaptureInfo> : CaptureInfo {};
template <>
struct Act<Row::cuStreamGetCaptureInfo_v2> : CaptureInfo {};
template <>
struct Act<Row::cuStreamGetCaptureInfo_v3> : CaptureInfo {};

}  // namespace nvs::fake
