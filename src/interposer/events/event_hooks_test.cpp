// SPDX-License-Identifier: Apache-2.0
// The hooks of events on a driver of the test's: what it is called with, and what becomes of the
// time that it says.
#include <gtest/gtest.h>

#include "interposer/events/event_times.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/test_real.h"
#include "interposer/session/captures.h"

namespace nvs::interposer::events {
namespace {

constexpr float kElapsed = 1e6F;

struct FakeDriver {
  CUresult result = CUDA_SUCCESS;
  CUdevice device = 0;
  int records = 0;
  int questions = 0;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
};
FakeDriver fake;

CUresult record(CUevent, CUstream) {
  ++fake.records;
  return fake.result;
}
CUresult record_with_flags(CUevent, CUstream, unsigned) {
  ++fake.records;
  return fake.result;
}
CUresult elapsed(float* milliseconds, CUevent, CUevent) {
  if (fake.result == CUDA_SUCCESS) *milliseconds = kElapsed;
  return fake.result;
}
CUresult get_device(CUdevice* device) {
  ++fake.questions;
  *device = fake.device;
  return CUDA_SUCCESS;
}
CUresult is_capturing(CUstream, CUstreamCaptureStatus* status) {
  ++fake.questions;
  *status = fake.capture;
  return CUDA_SUCCESS;
}

template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number << 8U);
}

class EventHooksTest : public testing::Test {
 protected:
  void SetUp() override {
    fake = {};
    times().start_over_in_child();
    captures::start_over_in_child();
    set_real_for_test<Row::cuEventRecord>(&record);
    set_real_for_test<Row::cuEventRecord_ptsz>(&record);
    set_real_for_test<Row::cuEventRecordWithFlags>(&record_with_flags);
    set_real_for_test<Row::cuEventRecordWithFlags_ptsz>(&record_with_flags);
    set_real_for_test<Row::cuEventElapsedTime>(&elapsed);
    set_real_for_test<Row::cuEventElapsedTime_v2>(&elapsed);
    set_real_for_test<Row::cuEventDestroy>([](CUevent) { return fake.result; });
    set_real_for_test<Row::cuEventDestroy_v2>([](CUevent) { return fake.result; });
    set_real_for_test<Row::cuCtxRecordEvent>([](CUcontext, CUevent) { return fake.result; });
    set_real_for_test<Row::cuGreenCtxRecordEvent>([](CUgreenCtx, CUevent) { return fake.result; });
    set_real_for_test<Row::cuGraphNodeSetParams>(
        [](CUgraphNode, CUgraphNodeParams*) { return fake.result; });
    set_real_for_test<Row::cuGraphEventRecordNodeSetEvent>(
        [](CUgraphNode, CUevent) { return fake.result; });
    set_real_for_test<Row::cuCtxGetDevice>(&get_device);
    set_real_for_test<Row::cuStreamIsCapturing>(&is_capturing);
  }

  // The clock of this process is the machine's, and stands only between waits.
  static void wait(int gpu = 0) {
    const std::int64_t before_ns = times().waited_ns(gpu);
    times().begin_wait(gpu);
    while (times().waited_ns(gpu) - before_ns < 1'000'000) {
    }
    times().end_wait(gpu);
  }

  bool is_corrected() const {
    float milliseconds = 0;
    float older = 0;
    EXPECT_EQ(hooks::cuEventElapsedTime_v2(&milliseconds, start_, end_), CUDA_SUCCESS);
    EXPECT_EQ(hooks::cuEventElapsedTime(&older, start_, end_), CUDA_SUCCESS);
    EXPECT_EQ(milliseconds, older);
    return milliseconds < kElapsed;
  }

  void record_around_a_wait() const {
    EXPECT_EQ(hooks::cuEventRecord(start_, stream_), CUDA_SUCCESS);
    wait();
    EXPECT_EQ(hooks::cuEventRecord(end_, stream_), CUDA_SUCCESS);
  }

  CUevent start_ = handle<CUevent>(1);
  CUevent end_ = handle<CUevent>(2);
  CUstream stream_ = handle<CUstream>(3);
};

TEST_F(EventHooksTest, AloneTheDriverIsAskedNothing) {
  hooks::cuEventRecord(start_, stream_);
  hooks::cuEventRecordWithFlags(end_, stream_, CU_EVENT_RECORD_DEFAULT);
  EXPECT_FALSE(is_corrected());
  EXPECT_EQ(fake.records, 2);
  EXPECT_EQ(fake.questions, 0);
}

TEST_F(EventHooksTest, EveryWayToRecordCounts) {
  const auto expect_counts = [&](const char* what, auto record_start) {
    wait();
    hooks::cuEventRecord(start_, stream_);
    wait();
    EXPECT_EQ(record_start(), CUDA_SUCCESS) << what;
    hooks::cuEventRecord(end_, stream_);
    EXPECT_FALSE(is_corrected()) << what << " did not replace the record before the wait";
    wait();
    hooks::cuEventRecord(end_, stream_);
    EXPECT_TRUE(is_corrected()) << what;
  };
  expect_counts("record", [&] { return hooks::cuEventRecord(start_, stream_); });
  expect_counts("ptsz", [&] { return hooks::cuEventRecord_ptsz(start_, stream_); });
  expect_counts("flags", [&] { return hooks::cuEventRecordWithFlags(start_, stream_, 0); });
  expect_counts("flags, ptsz",
                [&] { return hooks::cuEventRecordWithFlags_ptsz(start_, stream_, 0); });
  expect_counts("external, and not captured", [&] {
    return hooks::cuEventRecordWithFlags(start_, stream_, CU_EVENT_RECORD_EXTERNAL);
  });
}

TEST_F(EventHooksTest, ARecordThatFailsDoesNotCount) {
  record_around_a_wait();
  fake.result = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_EQ(hooks::cuEventRecord(start_, stream_), CUDA_ERROR_INVALID_HANDLE);
  fake.result = CUDA_SUCCESS;
  EXPECT_TRUE(is_corrected());
}

TEST_F(EventHooksTest, AFailureIsHandedOnAsItIs) {
  record_around_a_wait();
  fake.result = CUDA_ERROR_NOT_READY;
  float milliseconds = 5;
  EXPECT_EQ(hooks::cuEventElapsedTime_v2(&milliseconds, start_, end_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(milliseconds, 5);
}

TEST_F(EventHooksTest, TheGpuIsThatOfTheCall) {
  fake.device = 1;
  wait(0);
  record_around_a_wait();
  EXPECT_FALSE(is_corrected());
  hooks::cuEventRecord(start_, stream_);
  wait(1);
  hooks::cuEventRecord(end_, stream_);
  EXPECT_TRUE(is_corrected());
}

TEST_F(EventHooksTest, ARecordOnNoKnownGpuIsLeftAlone) {
  wait();
  fake.device = gate::kGpusMax;
  record_around_a_wait();
  EXPECT_FALSE(is_corrected());
}

TEST_F(EventHooksTest, ACapturedRecordIsNone) {
  record_around_a_wait();
  fake.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  hooks::cuEventRecordWithFlags(start_, stream_, 0);
  EXPECT_TRUE(is_corrected());
}

TEST_F(EventHooksTest, WhatGraphsRecordIsLeftAlone) {
  const auto expect_alone = [&](const char* what, auto give) {
    SetUp();
    EXPECT_EQ(give(), CUDA_SUCCESS) << what;  // before any wait
    fake.capture = CU_STREAM_CAPTURE_STATUS_NONE;
    wait();
    record_around_a_wait();
    EXPECT_FALSE(is_corrected()) << what;
    hooks::cuEventDestroy_v2(start_);
    record_around_a_wait();
    EXPECT_TRUE(is_corrected()) << what << ", and the handle is another event's";
  };
  expect_alone("an external record", [&] {
    fake.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return hooks::cuEventRecordWithFlags(start_, stream_, CU_EVENT_RECORD_EXTERNAL);
  });
  expect_alone("a node", [&] { return hooks::cuGraphEventRecordNodeSetEvent(nullptr, start_); });
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  node.eventRecord.event = start_;
  expect_alone("a node of any kind", [&] { return hooks::cuGraphNodeSetParams(nullptr, &node); });
}

TEST_F(EventHooksTest, NodesOfOtherKindsAndFailuresMeanNothing) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  node.eventRecord.event = start_;
  hooks::cuGraphNodeSetParams(nullptr, &node);
  hooks::cuGraphNodeSetParams(nullptr, nullptr);
  fake.result = CUDA_ERROR_INVALID_VALUE;
  hooks::cuGraphEventRecordNodeSetEvent(nullptr, start_);
  fake.result = CUDA_SUCCESS;
  record_around_a_wait();
  EXPECT_TRUE(is_corrected());
}

TEST_F(EventHooksTest, RecordsOfAWholeContextAreLeftAlone) {
  wait();
  record_around_a_wait();
  hooks::cuCtxRecordEvent(nullptr, end_);
  EXPECT_FALSE(is_corrected());
  record_around_a_wait();
  EXPECT_TRUE(is_corrected());
  hooks::cuGreenCtxRecordEvent(nullptr, end_);
  EXPECT_FALSE(is_corrected());
}

}  // namespace
}  // namespace nvs::interposer::events
