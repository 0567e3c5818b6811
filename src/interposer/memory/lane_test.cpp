// SPDX-License-Identifier: Apache-2.0
// Copies of chunks that fail: both places serve others then, so nothing may be under way. And what
// a context lacks because the card was full, which it gets later.
#include "interposer/memory/swap/lane.h"

#include <set>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::memory::lanes {
namespace {

constexpr int kGpu = 6;
constexpr std::uint64_t kHost = std::uint64_t{1} << 40U;

std::uint64_t last_stream = 0;
std::set<CUstream> under_way;
CUresult recorded = CUDA_SUCCESS;
CUresult synchronised = CUDA_SUCCESS;

CUresult make_stream(CUstream* out, unsigned) {
  *out = handle_of<CUstream>(++last_stream);
  return CUDA_SUCCESS;
}
CUresult end_stream(CUstream stream) {
  under_way.erase(stream);
  return CUDA_SUCCESS;
}
CUresult make_event(CUevent*, unsigned) { return CUDA_SUCCESS; }
CUresult record(CUevent, CUstream) { return recorded; }
CUresult wait_for_event(CUevent) { return synchronised; }
CUresult load_nothing(CUmodule*, const void*) { return CUDA_ERROR_OUT_OF_MEMORY; }

// Of what the kernel needs: how many parts there are, and how many of them there is room for.
int parts = 0;
int parts_max = 0;
template <class Handle>
CUresult make_part(Handle* out) {
  if (parts >= parts_max) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = handle_of<Handle>(static_cast<std::uint64_t>(++parts));
  return CUDA_SUCCESS;
}
CUresult end_part() {
  --parts;
  return CUDA_SUCCESS;
}
CUresult load(CUmodule* out, const void*) { return make_part(out); }
CUresult unload(CUmodule) { return end_part(); }
CUresult find_kernel(CUfunction* out, CUmodule, const char*) {
  *out = handle_of<CUfunction>(1);
  return CUDA_SUCCESS;
}
CUresult allocate(CUdeviceptr* out, size_t) {
  void* made = nullptr;
  const CUresult result = make_part(&made);
  *out = reinterpret_cast<CUdeviceptr>(made);
  return result;
}
CUresult give_back(CUdeviceptr) { return end_part(); }
CUresult allocate_host(void** out, size_t, unsigned) { return make_part(out); }
CUresult give_back_host(void*) { return end_part(); }
CUresult make_hash_stream(CUstream* out, unsigned) { return make_part(out); }
CUresult end_hash_stream(CUstream) { return end_part(); }
CUresult make_hash_event(CUevent* out, unsigned) { return make_part(out); }
CUresult end_hash_event(CUevent) { return end_part(); }
CUresult copy_out(void*, CUdeviceptr, size_t, CUstream stream) {
  under_way.insert(stream);
  return CUDA_SUCCESS;
}
CUresult copy_in(CUdeviceptr, const void*, size_t, CUstream stream) {
  under_way.insert(stream);
  return CUDA_SUCCESS;
}
CUresult push(CUcontext) { return CUDA_SUCCESS; }
CUresult pop(CUcontext*) { return CUDA_SUCCESS; }

class LaneTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    under_way.clear();
    recorded = synchronised = CUDA_SUCCESS;
    set_real_for_test<Row::cuStreamCreate>(&make_stream);
    set_real_for_test<Row::cuStreamSynchronize>(&end_stream);
    set_real_for_test<Row::cuEventCreate>(&make_event);
    set_real_for_test<Row::cuEventRecord>(&record);
    set_real_for_test<Row::cuEventSynchronize>(&wait_for_event);
    set_real_for_test<Row::cuModuleLoadData>(&load_nothing);
    set_real_for_test<Row::cuMemcpyDtoHAsync_v2>(&copy_out);
    set_real_for_test<Row::cuMemcpyHtoDAsync_v2>(&copy_in);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    contexts::created(driver_.current, kGpu);
    ASSERT_TRUE(lane_.take(driver_.current, kGpu));
  }
  void TearDown() override {
    lane_.give_back();
    swap::forget_lanes_in_child();
    contexts::start_over_in_child();
    forget<Row::cuStreamCreate, Row::cuStreamSynchronize, Row::cuEventCreate, Row::cuEventRecord,
           Row::cuEventSynchronize, Row::cuModuleLoadData, Row::cuMemcpyDtoHAsync_v2,
           Row::cuMemcpyHtoDAsync_v2, Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2>();
  }

  swap::Lane lane_;
};

TEST_F(LaneTest, NothingIsUnderWayOfWhatCouldNotBeBegun) {
  recorded = CUDA_ERROR_UNKNOWN;
  for (const auto direction : {swap::Direction::out, swap::Direction::in}) {
    EXPECT_FALSE(lane_.copy(direction, 0, 0, kHost, 100));
    EXPECT_TRUE(under_way.empty());
  }
}

TEST_F(LaneTest, NothingIsUnderWayOfWhatCouldNotBeWaitedFor) {
  synchronised = CUDA_ERROR_UNKNOWN;
  for (const auto direction : {swap::Direction::out, swap::Direction::in}) {
    ASSERT_TRUE(lane_.copy(direction, 0, 0, kHost, 100));
    EXPECT_FALSE(lane_.wait(0));
    EXPECT_TRUE(under_way.empty());
  }
}

TEST_F(LaneTest, WhatThereWasNoRoomForIsMadeLaterAndLeavesNothingUntilThen) {
  set_real_for_test<Row::cuModuleLoadData>(&load);
  set_real_for_test<Row::cuModuleUnload>(&unload);
  set_real_for_test<Row::cuModuleGetFunction>(&find_kernel);
  set_real_for_test<Row::cuMemAlloc_v2>(&allocate);
  set_real_for_test<Row::cuMemFree_v2>(&give_back);
  set_real_for_test<Row::cuMemHostAlloc>(&allocate_host);
  set_real_for_test<Row::cuMemFreeHost>(&give_back_host);
  set_real_for_test<Row::cuStreamCreate>(&make_hash_stream);
  set_real_for_test<Row::cuStreamDestroy_v2>(&end_hash_stream);
  set_real_for_test<Row::cuEventCreate>(&make_hash_event);
  set_real_for_test<Row::cuEventDestroy_v2>(&end_hash_event);
  parts = 0;
  constexpr int kAll = swap::kSlots + 4;
  for (parts_max = 0; parts_max < kAll; ++parts_max) {
    lane_.learn_to_hash();
    EXPECT_FALSE(lane_.can_hash());
    EXPECT_EQ(parts, 0) << "of " << parts_max;
  }
  lane_.learn_to_hash();
  EXPECT_TRUE(lane_.can_hash());
  EXPECT_EQ(parts, kAll);
  forget<Row::cuModuleUnload, Row::cuModuleGetFunction, Row::cuMemAlloc_v2, Row::cuMemFree_v2,
         Row::cuMemHostAlloc, Row::cuMemFreeHost, Row::cuStreamDestroy_v2,
         Row::cuEventDestroy_v2>();
}

TEST_F(LaneTest, MemoryOfAContextThatWasNotToldOfMovesInThePrimaryOne) {
  const auto green = handle_of<CUcontext>(0x9);
  const auto primary = handle_of<CUcontext>(0xa);
  swap::Lane lane;
  EXPECT_FALSE(lane.take_for(green, kGpu)) << "nobody waits for its work then";
  contexts::primary_created(primary, kGpu);
  ASSERT_TRUE(lane.take_for(green, kGpu));
  EXPECT_FALSE(lane.is_same(lane_));
  swap::Lane same;
  ASSERT_TRUE(same.take(primary, kGpu));
  EXPECT_TRUE(lane.is_same(same));
  same.give_back();
  lane.give_back();
  ASSERT_TRUE(lane.take_for(driver_.current, kGpu));
  EXPECT_TRUE(lane.is_same(lane_)) << "of one that is known, as ever";
  lane.give_back();
  lane_.give_back();
  contexts::may_end(driver_.current);
  EXPECT_FALSE(lane.take_for(driver_.current, kGpu)) << "that one is about to end";
  contexts::goes_on(driver_.current);
}

}  // namespace
}  // namespace nvs::interposer::memory::lanes
