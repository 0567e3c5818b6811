// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/unified/claim.h"
#include "interposer/memory/unified/use.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {
namespace {

using unified::Next;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kCardBytes = 16 * kGiB;
constexpr std::uint64_t kManaged = 0x700000000000;
constexpr std::uint64_t kOwnScrap = 0x5000;  // what the driver allocates itself

struct Advice {
  std::uint64_t address, bytes;
  CUmem_advise advice;
  CUdevice device;
  bool operator==(const Advice&) const = default;
};
std::vector<Advice> advices;
int managed_attribute = 1;

CUresult note_advice(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  advices.push_back({address, bytes, advice, device});
  return CUDA_SUCCESS;
}
CUresult tell_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY ? managed_attribute : 1;
  return CUDA_SUCCESS;
}
CUresult tell_size(size_t* bytes, CUdevice) {
  *bytes = kCardBytes;
  return CUDA_SUCCESS;
}
CUresult give_managed(CUdeviceptr* address, size_t, unsigned flags) {
  mock_driver().calls.emplace_back("cuMemAllocManaged");
  EXPECT_EQ(flags, unsigned{CU_MEM_ATTACH_GLOBAL});
  if (mock_driver().result == CUDA_SUCCESS) *address = kManaged;
  return mock_driver().result;
}
// Of managed memory, and of a scrap of ordinary memory.
CUresult tell_pointer(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  const bool is_managed = address >= kManaged;
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
    *static_cast<CUdeviceptr*>(out) = is_managed ? kManaged : kOwnScrap;
  } else {
    *static_cast<std::uint8_t*>(out) = is_managed ? 1 : 0;
  }
  return CUDA_SUCCESS;
}
CUresult stay(CUcontext) { return CUDA_SUCCESS; }
CUresult stay_too(CUcontext*) { return CUDA_SUCCESS; }

// Device 0 has managed memory, and no daemon.
class UnifiedTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    session::memory_start_over_in_child();
    forget_samples_in_child();
    advices.clear();
    driver_.given = kOwnScrap;
    driver_.pitch = 512;
    set_real_for_test<Row::cuMemAllocManaged>(&give_managed);
    set_real_for_test<Row::cuMemAdvise>(&note_advice);
    set_real_for_test<Row::cuDeviceGetAttribute>(&tell_attribute);
    set_real_for_test<Row::cuDeviceTotalMem_v2>(&tell_size);
    set_real_for_test<Row::cuPointerGetAttribute>(&tell_pointer);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&stay);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&stay_too);
    unified::configure(true);
  }
  void TearDown() override {
    unified::configure(false);
    session::memory_start_over_in_child();
  }
  CUresult allocate(std::uint64_t size) { return hooks::cuMemAlloc_v2(&address_, size); }

  CUdeviceptr address_ = 0;
};

TEST_F(UnifiedTest, WhatIsMoreThanTheGpuHasIsManagedMemoryThatPrefersIt) {
  EXPECT_EQ(allocate(24 * kGiB), CUDA_SUCCESS);
  EXPECT_EQ(address_, kManaged);
  EXPECT_EQ(advices,
            (std::vector<Advice>{{kManaged, 24 * kGiB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0}}));
  EXPECT_EQ(bytes(MemoryKind::unified), 24 * kGiB);
  EXPECT_EQ(hooks::cuMemFree_v2(kManaged), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::unified), 0U);
}

TEST_F(UnifiedTest, OnlyIfTheUserSaysSo) {
  unified::configure(false);
  EXPECT_EQ(allocate(kGiB), CUDA_SUCCESS);
  EXPECT_EQ(address_, kOwnScrap);
  EXPECT_EQ(bytes(MemoryKind::plain), kGiB);
}

TEST_F(UnifiedTest, RowsHaveTheDriversPitch) {
  size_t pitch = 0;
  EXPECT_EQ(hooks::cuMemAllocPitch_v2(&address_, &pitch, 100, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(address_, kManaged);
  EXPECT_EQ(pitch, 512U);
  EXPECT_EQ(bytes(MemoryKind::unified), 512U * 3);
}

TEST_F(UnifiedTest, WhatNoHostCouldHoldIsRefused) {
  EXPECT_EQ(allocate(std::uint64_t{1} << 50U), CUDA_ERROR_OUT_OF_MEMORY);
  driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(allocate(kGiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(books().totals().allocations, 0U);
}

TEST_F(UnifiedTest, ToProgramsItIsOrdinaryDeviceMemory) {
  allocate(kGiB);
  std::uint8_t is_managed = 9;
  EXPECT_EQ(
      hooks::cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, kManaged + 5),
      CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 0);
  hooks::cuMemFree_v2(kManaged);
  hooks::cuMemAllocManaged(&address_, kGiB, CU_MEM_ATTACH_GLOBAL);  // by the program itself
  hooks::cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, kManaged + 5);
  EXPECT_EQ(is_managed, 1);
}

// What it counts as, by the words of a daemon. No thread follows them but the test.
class ClaimTest : public UnifiedTest {
 protected:
  static constexpr std::uint64_t kLimit = 16 * kGiB;

  void SetUp() override {
    UnifiedTest::SetUp();
    unified::set_used(0);
    swap::rooms[0].total = swap::rooms[0].limit = kLimit;
    has(10 * kGiB);
    swap::rooms[0].brought = 10 * kGiB;
  }
  void has(std::uint64_t size) { write_down(MemoryKind::unified, size); }
  static void write_down(MemoryKind kind, std::uint64_t size) {
    books().allocated({.space = Space::address,
                       .kind = kind,
                       .id = kManaged + index_of(kind),
                       .bytes = size,
                       .owner = {OwnerType::context, kContext}},
                      0);
  }
  static void allow(std::uint64_t size) {
    ++swap::rooms[0].number;
    swap::rooms[0].allowed = size;
  }
  Next follow(bool is_closed) { return unified::follow_allowance(0, is_closed, target_); }

  std::uint64_t target_ = 0;
};

TEST_F(ClaimTest, ItIsNeverMoreThanOneCouldHaveBesideOthers) {
  EXPECT_EQ(unified::claimed(0), 10 * kGiB);
  EXPECT_EQ(unified::growth(0, 2 * kGiB), 2 * kGiB);
  EXPECT_EQ(unified::growth(0, 40 * kGiB), 4 * kGiB);
  has(50 * kGiB);
  EXPECT_EQ(unified::claimed(0), 14 * kGiB);
  EXPECT_EQ(unified::growth(0, kGiB), 0U);
  write_down(MemoryKind::array, kGiB);
  EXPECT_EQ(unified::claimed(0), 13 * kGiB) << "which cannot be moved, and is there too";
  write_down(MemoryKind::managed, 90 * kGiB);
  EXPECT_EQ(unified::claimed(0), 13 * kGiB) << "which goes when somebody needs the room";
}

TEST_F(ClaimTest, NothingLeavesBeforeTheGateIsClosed) {
  EXPECT_EQ(follow(false), Next::none);
  allow(4 * kGiB);
  EXPECT_EQ(follow(false), Next::wait);
  EXPECT_EQ(unified::away(0), 0U);
  EXPECT_EQ(follow(true), Next::left);
  EXPECT_EQ(unified::resident(0), 4 * kGiB);
  EXPECT_EQ(unified::away(0), 6 * kGiB);
  EXPECT_FALSE(unified::is_complete(0));
  EXPECT_FALSE(session::begin_window(0));
}

TEST_F(ClaimTest, WhatIsAllowedComesIn) {
  allow(0);
  EXPECT_EQ(follow(true), Next::left);
  EXPECT_EQ(follow(true), Next::none);
  allow(3 * kGiB);
  EXPECT_EQ(follow(true), Next::bring);
  EXPECT_EQ(target_, 3 * kGiB);
  EXPECT_TRUE(unified::note_brought(0, target_));
  EXPECT_EQ(follow(true), Next::none);
  swap::rooms[0].number = 0;  // the daemon is gone
  EXPECT_EQ(follow(true), Next::bring);
  EXPECT_EQ(target_, 10 * kGiB);
  allow(2 * kGiB);  // and is back
  EXPECT_FALSE(unified::note_brought(0, target_));
  EXPECT_EQ(follow(true), Next::left);
  allow(20 * kGiB);
  EXPECT_EQ(follow(true), Next::bring);
  EXPECT_TRUE(unified::note_brought(0, target_));
  EXPECT_TRUE(session::begin_window(0));
}

TEST_F(ClaimTest, WhoMayNotExceedHasWhatTheGpuHas) {
  unified::configure(false);
  EXPECT_EQ(unified::most(0), kLimit);
  write_down(MemoryKind::array, kGiB);
  EXPECT_EQ(unified::most(0), kLimit - kGiB);
  swap::rooms[0].total = 0;  // the daemon does not know it
  EXPECT_EQ(unified::most(0), kCardBytes);
  unified::configure(true);
  EXPECT_GT(unified::most(0), kCardBytes);
}

}  // namespace
}  // namespace nvs::interposer::memory
