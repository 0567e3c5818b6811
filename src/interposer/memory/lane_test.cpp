// SPDX-License-Identifier: Apache-2.0
// Copies of chunks that fail: both places serve others then, so nothing may be under way.
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
