// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hooks_fixture.h"

namespace nvs::interposer::memory {
namespace {

class ContextHooksTest : public HooksFixture {
 protected:
  void allocate(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t before = driver_.given;
    driver_.given = address;
    CUdeviceptr out = 0;
    hooks::cuMemAlloc_v2(&out, size);
    driver_.given = before;
  }
  void create(CUdevice device = 1) {
    driver_.given = kContext;
    EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, device), CUDA_SUCCESS);
  }
  void retain() {
    driver_.given = kContext;
    EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(&context_, 1), CUDA_SUCCESS);
    EXPECT_EQ(context_, handle_of<CUcontext>(kContext));
    driver_.primary_active = 1;
  }

  CUcontext context_ = nullptr;
};

TEST_F(ContextHooksTest, AllWaysToCreateAreNoted) {
  driver_.given = 0xc1;
  EXPECT_EQ(hooks::cuCtxCreate(&context_, 0, 1), CUDA_SUCCESS);
  driver_.given = 0xc2;
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, 2), CUDA_SUCCESS);
  driver_.given = 0xc3;
  EXPECT_EQ(hooks::cuCtxCreate_v3(&context_, nullptr, 0, 0, 3), CUDA_SUCCESS);
  driver_.given = 0xc4;
  EXPECT_EQ(hooks::cuCtxCreate_v4(&context_, nullptr, 0, 4), CUDA_SUCCESS);
  EXPECT_EQ(context_, handle_of<CUcontext>(0xc4));
  EXPECT_EQ(take_calls(),
            (Calls{"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4"}));
  for (int device = 1; device <= 4; ++device) {
    const OwnerRow row = row_of(0xc0U + static_cast<unsigned>(device));
    EXPECT_EQ(row.use, RowUse::context);
    EXPECT_EQ(row.device, device);
  }
}

TEST_F(ContextHooksTest, ErrorsAndNullsChangeNothing) {
  EXPECT_EQ(hooks::cuCtxCreate_v2(nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(nullptr, 0), CUDA_SUCCESS);
  create();
  allocate(0x100, 10);
  driver_.result = CUDA_ERROR_INVALID_CONTEXT;
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuCtxDestroy(context_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(context_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuCtxDetach(context_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(&context_, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRelease_v2(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(bytes(MemoryKind::plain), 10U);
  EXPECT_EQ(row_of(kContext).device, 1);
}

TEST_F(ContextHooksTest, DestructionTakesEverythingAlong) {
  for (auto* destroy : {&hooks::cuCtxDestroy, &hooks::cuCtxDestroy_v2}) {
    create();
    allocate(0x100, 10);
    allocate(0x200, 10);
    EXPECT_EQ(destroy(context_), CUDA_SUCCESS);
    EXPECT_EQ(books().totals().bytes_now, 0U);
    EXPECT_EQ(row_of(kContext).use, RowUse::free);
  }
}

TEST_F(ContextHooksTest, DetachingEndsAContextThatIsNotCurrentAfterwards) {
  create();
  allocate(0x100, 10);
  EXPECT_EQ(hooks::cuCtxDetach(context_), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::plain), 10U);
  driver_.during = [this] { driver_.current = nullptr; };
  EXPECT_EQ(hooks::cuCtxDetach(context_), CUDA_SUCCESS);
  EXPECT_EQ(books().totals().bytes_now, 0U);
  EXPECT_EQ(row_of(kContext).use, RowUse::free);
}

// The driver gives the same handle to another thread's new context at once.
TEST_F(ContextHooksTest, AHandleGivenAnewDuringADestructionIsKept) {
  create();
  allocate(0x100, 10);
  driver_.during = [this] {
    driver_.during = nullptr;
    create(2);
    allocate(0x200, 7);
  };
  EXPECT_EQ(hooks::cuCtxDestroy_v2(handle_of<CUcontext>(kContext)), CUDA_SUCCESS);
  EXPECT_EQ(row_of(kContext).device, 2);
  EXPECT_EQ(row_of(kContext).all.bytes_now, 7U);
}

TEST_F(ContextHooksTest, OnlyTheLastReleaseEndsAPrimaryContext) {
  for (auto* release : {&hooks::cuDevicePrimaryCtxRelease, &hooks::cuDevicePrimaryCtxRelease_v2}) {
    retain();
    allocate(0x100, 10);
    EXPECT_EQ(row_of(kContext).use, RowUse::primary_context);
    EXPECT_EQ(release(1), CUDA_SUCCESS);
    EXPECT_EQ(bytes(MemoryKind::plain), 10U);
    driver_.primary_active = 0;
    EXPECT_EQ(release(1), CUDA_SUCCESS);
    EXPECT_EQ(books().totals().bytes_now, 0U);
    EXPECT_EQ(row_of(kContext).use, RowUse::free);
  }
}

TEST_F(ContextHooksTest, AResetFreesEverythingHoweverManyHoldTheContext) {
  for (auto* reset : {&hooks::cuDevicePrimaryCtxReset, &hooks::cuDevicePrimaryCtxReset_v2}) {
    retain();
    allocate(0x100, 10);
    EXPECT_EQ(reset(1), CUDA_SUCCESS);
    EXPECT_EQ(books().totals().bytes_now, 0U);
    // Retained again under its old handle, it starts anew.
    retain();
    allocate(0x100, 3);
    EXPECT_EQ(row_of(kContext).all.bytes_peak, 3U);
    EXPECT_EQ(reset(1), CUDA_SUCCESS);
  }
}

TEST_F(ContextHooksTest, OtherDevicesAndContextsStay) {
  retain();
  allocate(0x100, 10);
  driver_.primary_active = 0;
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(-1), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(1000), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(handle_of<CUcontext>(0x77)), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::plain), 10U);
}

}  // namespace
}  // namespace nvs::interposer::memory
