// SPDX-License-Identifier: Apache-2.0
// For tests of what marks tell: a driver with one context, whose events are all complete or all are
// not, or have failed.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "interposer/exports/test_real.h"
#include "interposer/flow/flow.h"

namespace nvs::interposer::flow {

struct FakeEvents {
  bool complete = true;
  CUresult result = CUDA_SUCCESS;  // of those that are
  std::function<void()> in_query;
  std::function<void()> in_record;  // the event is recorded by then
  int records = 0;
  CUstream recorded_on = nullptr;     // the last of them
  CUresult capturing = CUDA_SUCCESS;  // what is answered to whoever asks
};
inline FakeEvents fake_events;

// Any handle is as good as another.
template <class Handle>
CUresult give_fake_handle(Handle* place) {
  static int thing = 0;
  *place = reinterpret_cast<Handle>(&thing);
  return CUDA_SUCCESS;
}

inline void use_fake_events() {
  fake_events = {};
  set_real_for_test<Row::cuStreamGetCtx>(
      [](CUstream, CUcontext* place) { return give_fake_handle(place); });
  set_real_for_test<Row::cuCtxGetCurrent>([](CUcontext* place) { return give_fake_handle(place); });
  set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext) { return CUDA_SUCCESS; });
  set_real_for_test<Row::cuCtxPopCurrent_v2>(
      [](CUcontext* place) { return give_fake_handle(place); });
  set_real_for_test<Row::cuEventCreate>(
      [](CUevent* place, unsigned) { return give_fake_handle(place); });
  set_real_for_test<Row::cuEventRecord>([](CUevent, CUstream stream) {
    ++fake_events.records;
    fake_events.recorded_on = stream;
    if (fake_events.in_record) fake_events.in_record();
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuStreamIsCapturing>([](CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return fake_events.capturing;
  });
  set_real_for_test<Row::cuEventQuery>([](CUevent) {
    if (fake_events.in_query) fake_events.in_query();
    return fake_events.complete ? fake_events.result : CUDA_ERROR_NOT_READY;
  });
}

// A GPU whose queue is bounded and was seen empty.
class BoundedTest : public testing::Test {
 protected:
  void SetUp() override {
    use_fake_events();
    start_over_in_child();
    set_bound(0, kBound_ns);
    emptied(0, now(0));
  }
  void TearDown() override { start_over_in_child(); }

  static CUstream stream() { return reinterpret_cast<CUstream>(0x40); }
  static Look look() {
    Look result{};
    EXPECT_TRUE(flow::look(0, result));
    return result;
  }

  static constexpr std::int64_t kBound_ns = 2'000'000;
};

}  // namespace nvs::interposer::flow
