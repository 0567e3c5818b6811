// SPDX-License-Identifier: Apache-2.0
// Both ends of moves, of which the copies were made, or were not. The device's memory is the
// test's own.
#include "interposer/memory/swap/check.h"

#include <cstdlib>
#include <cstring>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/vmm/region_table.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::memory::checks {
namespace {

using swap::Direction;
using vmm::ChunkEvent;
using Stage = swap::Flight::Stage;

constexpr int kGpu = 5;
constexpr int kSlot = 3;
constexpr std::size_t kBytes = std::size_t{2} << 20U;
constexpr vmm::HostPlace kPlace{1, 0};

CUresult loaded = CUDA_SUCCESS;
std::uint64_t digests[2 * swap::kSlots * 4];

CUresult make_stream(CUstream*, unsigned) { return CUDA_SUCCESS; }
CUresult end_stream(CUstream) { return CUDA_SUCCESS; }
CUresult make_event(CUevent*, unsigned) { return CUDA_SUCCESS; }
CUresult record(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult wait_for_event(CUevent) { return CUDA_SUCCESS; }
CUresult load(CUmodule*, const void*) { return loaded; }
CUresult find(CUfunction* out, CUmodule, const char*) {
  *out = handle_of<CUfunction>(7);
  return CUDA_SUCCESS;
}
CUresult alloc(CUdeviceptr* out, size_t) {
  *out = reinterpret_cast<CUdeviceptr>(digests);
  return CUDA_SUCCESS;
}
CUresult alloc_host(void** out, size_t, unsigned) {
  *out = digests + swap::kSlots * 4;
  return CUDA_SUCCESS;
}
CUresult set(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return CUDA_SUCCESS;
}
CUresult copy_out(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
// As the kernel does, with a simpler hash.
CUresult launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream, void** arguments, void**) {
  const auto* data =
      reinterpret_cast<const std::uint64_t*>(*static_cast<std::uint64_t*>(arguments[0]));
  const std::uint64_t words = *static_cast<std::uint64_t*>(arguments[1]);
  auto* out = reinterpret_cast<std::uint64_t*>(*static_cast<std::uint64_t*>(arguments[2]));
  for (std::uint64_t i = 0; i < 2 * words; ++i) {
    out[0] += data[i];
    out[1] += data[i] * (i + 1);
    if (data[i] != 0) out[2] = 1;
  }
  return CUDA_SUCCESS;
}
CUresult push(CUcontext) { return CUDA_SUCCESS; }
CUresult pop(CUcontext*) { return CUDA_SUCCESS; }

class CheckTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    loaded = CUDA_SUCCESS;
    set_real_for_test<Row::cuStreamCreate>(&make_stream);
    set_real_for_test<Row::cuStreamSynchronize>(&end_stream);
    set_real_for_test<Row::cuEventCreate>(&make_event);
    set_real_for_test<Row::cuEventRecord>(&record);
    set_real_for_test<Row::cuEventSynchronize>(&wait_for_event);
    set_real_for_test<Row::cuModuleLoadData>(&load);
    set_real_for_test<Row::cuModuleGetFunction>(&find);
    set_real_for_test<Row::cuMemAlloc_v2>(&alloc);
    set_real_for_test<Row::cuMemHostAlloc>(&alloc_host);
    set_real_for_test<Row::cuMemsetD8Async>(&set);
    set_real_for_test<Row::cuMemcpyDtoHAsync_v2>(&copy_out);
    set_real_for_test<Row::cuLaunchKernel>(&launch);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    contexts::created(driver_.current, kGpu);
    std::memset(data_, 0, kBytes);
    region_ = regions_.insert({.base = reinterpret_cast<std::uint64_t>(data_),
                               .bytes = kBytes,
                               .granularity = kBytes,
                               .context = kContext,
                               .device = kGpu});
    ASSERT_NE(region_, nullptr);
    apply({.event = ChunkEvent::backed, .handle = 1});
    flight_.move = {region_, 0, kBytes};
    flight_.address = flight_.chunk_address();
  }
  void TearDown() override {
    flight_.give_lane();
    std::free(data_);
    swap::forget_lanes_in_child();
    contexts::start_over_in_child();
    forget<Row::cuStreamCreate, Row::cuStreamSynchronize, Row::cuEventCreate, Row::cuEventRecord,
           Row::cuEventSynchronize, Row::cuModuleLoadData, Row::cuModuleGetFunction,
           Row::cuMemHostAlloc, Row::cuMemsetD8Async, Row::cuMemcpyDtoHAsync_v2,
           Row::cuLaunchKernel, Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2>();
  }

  void apply(const vmm::Happening& what) { ASSERT_TRUE(regions_.apply(region_, 0, what).fits); }

  // Its hash, as of now.
  vmm::Hash hash() {
    EXPECT_TRUE(flight_.has_lane || flight_.take_lane());
    const swap::Lane::Stretch stretch{flight_.address, kBytes};
    swap::Lane::Content content{};
    EXPECT_TRUE(flight_.lane.begin_hashes(kSlot, &stretch, 1));
    EXPECT_TRUE(flight_.lane.end_hash(kSlot, kSlot, content));
    return content.hash;
  }
  void leave(Stage stage) {
    apply({.event = ChunkEvent::began_out});
    flight_.stage = stage;
  }
  // It left with what is in it now, and is about to arrive.
  void come_back() {
    const vmm::Hash left = hash();
    apply({.event = ChunkEvent::began_out});
    apply({.event = ChunkEvent::out_copied, .place = kPlace, .hash = left});
    apply({.event = ChunkEvent::began_in});
    flight_.stage = Stage::copying;
  }
  void check(Direction direction) { swap::check_end(flight_, kSlot, direction); }

  unsigned char* data_ = static_cast<unsigned char*>(std::aligned_alloc(kBytes, kBytes));
  vmm::RegionTable regions_;
  vmm::Region* region_ = nullptr;
  swap::Flight flight_ = {};
};

TEST_F(CheckTest, WhatIsCopiedDoesNotChangeMeanwhile) {
  data_[100] = 1;
  flight_.hash = hash();
  leave(Stage::copying);
  check(Direction::out);
  data_[kBytes - 1] = 1;
  EXPECT_DEATH(check(Direction::out), "memory at 0x.*changed while it was copied");
}

TEST_F(CheckTest, WhatIsNotCopiedIsWhatItsCopyIs) {
  data_[100] = 1;
  come_back();
  apply({.event = ChunkEvent::in_done, .handle = 1});
  leave(Stage::same);
  flight_.give_lane();
  check(Direction::out);
  data_[101] = 1;
  EXPECT_DEATH(check(Direction::out), "is not what its copy in host memory is");
}

TEST_F(CheckTest, WhatIsDroppedIsZero) {
  leave(Stage::zero);
  check(Direction::out);
  data_[kBytes / 2] = 1;
  EXPECT_DEATH(check(Direction::out), "which it is not");
}

TEST_F(CheckTest, WhatComesBackIsWhatLeft) {
  data_[100] = 1;
  come_back();
  check(Direction::in);
  data_[100] = 3;
  EXPECT_DEATH(check(Direction::in), "came back from host memory as other than left");
}

TEST_F(CheckTest, ZerosComeBack) {
  apply({.event = ChunkEvent::began_out});
  apply({.event = ChunkEvent::out_zero});
  apply({.event = ChunkEvent::began_in});
  flight_.stage = Stage::copying;
  ASSERT_TRUE(flight_.take_lane());
  check(Direction::in);
  data_[0] = 1;
  EXPECT_DEATH(check(Direction::in), "was to come back as zero");
}

TEST_F(CheckTest, NothingIsSaidOfWhatNobodyKnows) {
  data_[100] = 1;
  leave(Stage::copying);  // without a hash
  check(Direction::out);
  apply({.event = ChunkEvent::out_copied, .place = kPlace});
  apply({.event = ChunkEvent::began_in});
  check(Direction::in);
}

TEST_F(CheckTest, NothingIsSaidWhereNothingCanBeHashed) {
  loaded = CUDA_ERROR_OUT_OF_MEMORY;
  data_[100] = 1;
  leave(Stage::zero);
  check(Direction::out);
}

}  // namespace
}  // namespace nvs::interposer::memory::checks
