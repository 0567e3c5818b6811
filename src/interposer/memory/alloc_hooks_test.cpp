// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hooks_fixture.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kAddress = 0x7000;
constexpr std::uint64_t kBytes = 1000;

// One way to allocate, with or without a place for the result.
struct Way {
  const char* name;
  MemoryKind kind;
  std::uint64_t bytes;
  CUresult (*allocate)(bool with_place);
};

template <class Address>
Address* place(bool with_place) {
  static Address address;
  return with_place ? &address : nullptr;
}
template <class Size>
Size* pitch_place() {
  static Size pitch;
  return &pitch;
}

const Way kWays[] = {
    {"cuMemAlloc", MemoryKind::plain, kBytes,
     [](bool p) { return hooks::cuMemAlloc(place<CUdeviceptr_v1>(p), kBytes); }},
    {"cuMemAlloc_v2", MemoryKind::plain, kBytes,
     [](bool p) { return hooks::cuMemAlloc_v2(place<CUdeviceptr>(p), kBytes); }},
    {"cuMemAllocPitch", MemoryKind::pitched, 512 * 3,
     [](bool p) {
       return hooks::cuMemAllocPitch(place<CUdeviceptr_v1>(p), pitch_place<unsigned>(), 100, 3, 4);
     }},
    {"cuMemAllocPitch_v2", MemoryKind::pitched, 512 * 3,
     [](bool p) {
       return hooks::cuMemAllocPitch_v2(place<CUdeviceptr>(p), pitch_place<size_t>(), 100, 3, 4);
     }},
    {"cuMemAllocManaged", MemoryKind::managed, kBytes,
     [](bool p) { return hooks::cuMemAllocManaged(place<CUdeviceptr>(p), kBytes, 1); }},
    {"cuMemAllocAsync", MemoryKind::async, kBytes,
     [](bool p) { return hooks::cuMemAllocAsync(place<CUdeviceptr>(p), kBytes, nullptr); }},
    {"cuMemAllocAsync_ptsz", MemoryKind::async, kBytes,
     [](bool p) { return hooks::cuMemAllocAsync_ptsz(place<CUdeviceptr>(p), kBytes, nullptr); }},
    {"cuMemAllocFromPoolAsync", MemoryKind::pool, kBytes,
     [](bool p) {
       return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(p), kBytes, nullptr, nullptr);
     }},
    {"cuMemAllocFromPoolAsync_ptsz", MemoryKind::pool, kBytes,
     [](bool p) {
       return hooks::cuMemAllocFromPoolAsync_ptsz(place<CUdeviceptr>(p), kBytes, nullptr, nullptr);
     }},
};

class AllocHooksTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    driver_.given = kAddress;
    driver_.pitch = 512;
  }
};

TEST_F(AllocHooksTest, EveryWayIsCountedByItsKind) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    EXPECT_EQ(way.allocate(true), CUDA_SUCCESS);
    EXPECT_EQ(take_calls().front(), way.name);
    EXPECT_EQ(bytes(way.kind), way.bytes);
    EXPECT_EQ(row_of(kContext).all.count_now, 1U);
    EXPECT_EQ(hooks::cuMemFree_v2(kAddress), CUDA_SUCCESS);
    EXPECT_EQ(bytes(way.kind), 0U);
  }
}

TEST_F(AllocHooksTest, ErrorsAreHandedOnAndCountNothing) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
    EXPECT_EQ(way.allocate(true), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(way.allocate(false), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(take_calls(), (Calls{way.name, way.name}));
    EXPECT_EQ(books().totals().allocations, 0U);
  }
}

TEST_F(AllocHooksTest, ADriverThatAcceptsNullDoesNotMakeUsCrash) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    EXPECT_EQ(way.allocate(false), CUDA_SUCCESS);
    EXPECT_EQ(books().totals().allocations, 0U);
  }
}

TEST_F(AllocHooksTest, TheDriverIsAskedForTheDeviceOnceAContext) {
  CUdeviceptr out = 0;
  hooks::cuMemAlloc_v2(&out, kBytes);
  EXPECT_EQ(take_calls(), (Calls{"cuMemAlloc_v2", "cuCtxGetCurrent", "cuCtxGetDevice"}));
  driver_.given = kAddress + 0x1000;
  hooks::cuMemAlloc_v2(&out, kBytes);
  EXPECT_EQ(out, kAddress + 0x1000);
  EXPECT_EQ(take_calls(), (Calls{"cuMemAlloc_v2", "cuCtxGetCurrent"}));
  driver_.current = handle_of<CUcontext>(0xbeef);
  driver_.device = 3;
  driver_.given = kAddress + 0x2000;
  hooks::cuMemAlloc_v2(&out, kBytes);
  EXPECT_EQ(row_of(kContext).all.bytes_now, 2 * kBytes);
  EXPECT_EQ(row_of(0xbeef).all.bytes_now, kBytes);
  EXPECT_EQ(row_of(0xbeef).device, 3);
}

TEST_F(AllocHooksTest, ADriverWithoutAnswersIsNoReasonToFail) {
  CUdeviceptr out = 0;
  driver_.answer = CUDA_ERROR_DEINITIALIZED;
  EXPECT_EQ(hooks::cuMemAlloc_v2(&out, kBytes), CUDA_SUCCESS);
  set_real_for_test<Row::cuCtxGetCurrent>(nullptr);
  set_real_for_test<Row::cuCtxGetDevice>(nullptr);
  set_real_for_test<Row::cuStreamIsCapturing>(nullptr);
  driver_.given = kAddress + 0x1000;
  EXPECT_EQ(hooks::cuMemAllocAsync_ptsz(&out, kBytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(row_of(0).all.bytes_now, 2 * kBytes);
  EXPECT_EQ(row_of(0).device, kUnknownDevice);
}

TEST_F(AllocHooksTest, WhatACaptureAddsToAGraphIsNoAllocation) {
  CUdeviceptr out = 0;
  const auto stream = handle_of<CUstream>(0x51);
  for (const auto status :
       {CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED}) {
    driver_.capture = status;
    EXPECT_EQ(hooks::cuMemAllocAsync(&out, kBytes, stream), CUDA_SUCCESS);
    EXPECT_EQ(take_calls(), (Calls{"cuMemAllocAsync", "cuStreamIsCapturing"}));
    EXPECT_EQ(driver_.asked_stream, stream);
    EXPECT_EQ(hooks::cuMemAllocFromPoolAsync_ptsz(&out, kBytes, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver_.asked_stream, CU_STREAM_PER_THREAD);
    EXPECT_EQ(books().totals().allocations, 0U);
    take_calls();
  }
}

TEST_F(AllocHooksTest, NobodyAsksWhetherTheLegacyStreamIsCaptured) {
  CUdeviceptr out = 0;
  driver_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  hooks::cuMemAllocAsync(&out, kBytes, nullptr);
  driver_.given = kAddress + 0x1000;
  hooks::cuMemAllocAsync_ptsz(&out, kBytes, CU_STREAM_LEGACY);
  EXPECT_EQ(take_calls(), (Calls{"cuMemAllocAsync", "cuCtxGetCurrent", "cuCtxGetDevice",
                                 "cuMemAllocAsync_ptsz", "cuCtxGetCurrent"}));
  EXPECT_EQ(counts(MemoryKind::async).count_now, 2U);
}

struct FreeWay {
  const char* name;
  CUresult (*free)();
};
const FreeWay kFreeWays[] = {
    {"cuMemFree", [] { return hooks::cuMemFree(kAddress); }},
    {"cuMemFree_v2", [] { return hooks::cuMemFree_v2(kAddress); }},
    {"cuMemFreeAsync", [] { return hooks::cuMemFreeAsync(kAddress, nullptr); }},
    {"cuMemFreeAsync_ptsz", [] { return hooks::cuMemFreeAsync_ptsz(kAddress, nullptr); }},
};

TEST_F(AllocHooksTest, FreeingIsInTheBooksBeforeTheDriverKnows) {
  for (const FreeWay& way : kFreeWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    CUdeviceptr out = 0;
    hooks::cuMemAlloc_v2(&out, kBytes);
    take_calls();
    driver_.during = [] { EXPECT_EQ(bytes(MemoryKind::plain), 0U); };
    EXPECT_EQ(way.free(), CUDA_SUCCESS);
    EXPECT_EQ(take_calls(), Calls{way.name});
    EXPECT_EQ(bytes(MemoryKind::plain), 0U);
  }
}

TEST_F(AllocHooksTest, ARefusedFreeIsHandedOnAndTakenBack) {
  for (const FreeWay& way : kFreeWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    CUdeviceptr out = 0;
    hooks::cuMemAlloc_v2(&out, kBytes);
    driver_.result = CUDA_ERROR_ILLEGAL_ADDRESS;
    EXPECT_EQ(way.free(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(bytes(MemoryKind::plain), kBytes);
    EXPECT_EQ(counts(MemoryKind::plain).allocations, 1U);
  }
}

TEST_F(AllocHooksTest, BadPointersGoToTheDriver) {
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuMemFree_v2(0xbad), CUDA_ERROR_INVALID_VALUE);
  driver_.result = CUDA_SUCCESS;
  EXPECT_EQ(hooks::cuMemFree_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(take_calls(), (Calls{"cuMemFree_v2", "cuMemFree_v2"}));
  EXPECT_EQ(books().totals().allocations, 0U);
}

// Another thread gets the address while the driver is still inside the call that frees it.
TEST_F(AllocHooksTest, AnAddressThatIsGivenAnewDuringAFreeIsKept) {
  CUdeviceptr out = 0;
  hooks::cuMemAlloc_v2(&out, kBytes);
  driver_.during = [this] {
    driver_.during = nullptr;
    CUdeviceptr other = 0;
    hooks::cuMemAlloc_v2(&other, 7);
  };
  EXPECT_EQ(hooks::cuMemFree_v2(kAddress), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::plain), 7U);
  EXPECT_EQ(counts(MemoryKind::plain).allocations, 2U);
}

}  // namespace
}  // namespace nvs::interposer::memory
