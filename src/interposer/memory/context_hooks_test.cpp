// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "interposer/memory/full_gpu_fixture.h"
#include "interposer/session/contexts.h"

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

// A drain synchronises them, and memory in them counts.
TEST_F(ContextHooksTest, ThoseOfGraphicsAreNotedLikeAnyOther) {
  driver_.given = 0xc1;
  EXPECT_EQ(hooks::cuGLCtxCreate(&context_, 0, 1), CUDA_SUCCESS);
  driver_.given = 0xc2;
  EXPECT_EQ(hooks::cuGLCtxCreate_v2(&context_, 0, 2), CUDA_SUCCESS);
  driver_.given = 0xc3;
  EXPECT_EQ(hooks::cuVDPAUCtxCreate(&context_, 0, 3, 0, nullptr), CUDA_SUCCESS);
  driver_.given = 0xc4;
  EXPECT_EQ(hooks::cuVDPAUCtxCreate_v2(&context_, 0, 4, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(take_calls(), (Calls{"cuGLCtxCreate", "cuGLCtxCreate_v2", "cuVDPAUCtxCreate",
                                 "cuVDPAUCtxCreate_v2"}));
  for (int device = 1; device <= 4; ++device) {
    const auto context = handle_of<CUcontext>(0xc0U + static_cast<unsigned>(device));
    const int index = contexts::take_this(context, device, contexts::Use::waiting);
    ASSERT_GE(index, 0) << device;
    contexts::give_back(index);
    EXPECT_EQ(hooks::cuCtxDestroy_v2(context), CUDA_SUCCESS);
    EXPECT_FALSE(contexts::is_known(context));
  }
}

// The driver has nothing left for a context.
class FullGpuTest : public FullGpuFixture {
 protected:
  static constexpr std::uint64_t kFirst = kTotal / 128;
  static constexpr std::uint64_t kMost = kTotal / 8;

  void SetUp() override {
    FullGpuFixture::SetUp();
    driver_.given = kContext;
  }

  CUcontext context_ = nullptr;
};

TEST_F(FullGpuTest, WithoutADaemonTheDriversAnswerStandsAtOnce) {
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(&context_, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, 1000), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(take_calls(), (Calls{"cuCtxCreate_v2", "cuDevicePrimaryCtxRetain", "cuCtxCreate_v2"}));
}

TEST_F(FullGpuTest, EveryContextIsMadeOnceOthersHaveMadeRoom) {
  const auto is_made = [this](const char* name, auto make) {
    session::memory_start_over_in_child();
    come_under_daemon();
    driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
    driver_.during = [this] {
      if (room().backing == 0) return;
      EXPECT_EQ(room().backing, kFirst) << "a little of it, while the driver is asked";
      driver_.result = CUDA_SUCCESS;
    };
    EXPECT_EQ(while_others_leave(make), CUDA_SUCCESS) << name;
    EXPECT_EQ(take_calls(), (Calls{name, name}));
    EXPECT_EQ(row_of(kContext).device, kGpu) << "it is written down as ever";
    EXPECT_FALSE(room().is_crowded) << "that is nothing that will have to move";
    expect_nothing_held();
  };
  is_made("cuCtxCreate", [this] { return hooks::cuCtxCreate(&context_, 0, kGpu); });
  is_made("cuCtxCreate_v2", [this] { return hooks::cuCtxCreate_v2(&context_, 0, kGpu); });
  is_made("cuCtxCreate_v3",
          [this] { return hooks::cuCtxCreate_v3(&context_, nullptr, 0, 0, kGpu); });
  is_made("cuCtxCreate_v4", [this] { return hooks::cuCtxCreate_v4(&context_, nullptr, 0, kGpu); });
  is_made("cuDevicePrimaryCtxRetain",
          [this] { return hooks::cuDevicePrimaryCtxRetain(&context_, kGpu); });
}

// It needs more than that, or the driver has less than the daemon thinks.
TEST_F(FullGpuTest, MoreAndMoreIsHeldUpToAPartOfTheGpu) {
  come_under_daemon();
  allow(kTotal);
  std::vector<std::uint64_t> held;
  int tries_with_most = 0;
  driver_.during = [&] {
    if (held.empty() || held.back() != room().backing) held.push_back(room().backing);
    EXPECT_EQ(room().for_driver, room().backing);
    if (room().backing == kMost) ++tries_with_most;
    // The others have left, and nobody can make room any more.
    if (tries_with_most == 30) room().shared = false;
  };
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(held,
            (std::vector<std::uint64_t>{0, kFirst, 2 * kFirst, 4 * kFirst, 8 * kFirst, kMost}));
  expect_nothing_held();
}

TEST_F(FullGpuTest, WhatIsBeyondTheLimitIsNotWaitedFor) {
  come_under_daemon();
  session::set_visible({.ordinal = kGpu, .total = kTotal, .limit = kFirst - 1});
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(take_calls(), Calls{"cuCtxCreate_v2"});
  // The first part may be had, and the second may not: then it stays with the first.
  session::set_visible({.ordinal = kGpu, .total = kTotal, .limit = kFirst});
  allow(kTotal);
  int tries = 0;
  driver_.during = [&] {
    EXPECT_LE(room().backing, kFirst);
    if (++tries == 40) driver_.result = CUDA_SUCCESS;
  };
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_SUCCESS);
  expect_nothing_held();
  // And then not even that.
  driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  driver_.during = [] { room().limit = room().backing > 0 ? 0 : kFirst; };
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  expect_nothing_held();
}

// Patience is time, and the driver's own is a part of it.
TEST_F(FullGpuTest, ADriverThatIsSlowToRefuseIsAskedLessOften) {
  come_under_daemon();
  room().shared = false;
  driver_.during = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_LE(take_calls().size(), 4U);
  expect_nothing_held();
}

TEST_F(FullGpuTest, OtherErrorsStand) {
  come_under_daemon();
  allow(kTotal);
  driver_.during = [this] {
    if (room().backing > 0) driver_.result = CUDA_ERROR_INVALID_DEVICE;
  };
  EXPECT_EQ(hooks::cuCtxCreate_v2(&context_, 0, kGpu), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(take_calls(), (Calls{"cuCtxCreate_v2", "cuCtxCreate_v2"}));
  expect_nothing_held();
}

}  // namespace
}  // namespace nvs::interposer::memory
