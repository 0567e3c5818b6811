// SPDX-License-Identifier: Apache-2.0
// Green contexts: they hold the primary context, and what is allocated in them is its memory.
#include "interposer/flow/flow.h"
#include "interposer/memory/full_gpu_fixture.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/ordered_streams.h"
#include "interposer/memory/view_fixture.h"

namespace nvs::interposer::memory::greens {
namespace {

using view_hooks::kGpu;
using view_hooks::kUnit;
using view_hooks::pages;

const auto kGreen = handle_of<CUgreenCtx>(0x61);
const auto kSecond = handle_of<CUgreenCtx>(0x64);
const auto kInGreen = handle_of<CUcontext>(0x62);
const auto kPrimary = handle_of<CUcontext>(0x63);

bool is_gone = false;  // the green context
CUgreenCtx next_green = nullptr;

CUresult make_green(CUgreenCtx* out, CUdevResourceDesc, CUdevice, unsigned) {
  if (mock_driver().during) mock_driver().during();
  if (mock_driver().result == CUDA_SUCCESS) *out = next_green;
  return mock_driver().result;
}
CUresult end_green(CUgreenCtx) {
  is_gone = mock_driver().result == CUDA_SUCCESS;
  return mock_driver().result;
}
CUresult context_of(CUcontext* out, CUgreenCtx green) {
  *out = kInGreen;
  const bool is_one = green == kGreen || green == kSecond;
  return is_one && !is_gone ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUcontext pushed = nullptr;
CUresult push_living(CUcontext context) {
  pushed = context;
  return context == kInGreen && is_gone ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult retain(CUcontext* out, CUdevice) {
  *out = kPrimary;
  return CUDA_SUCCESS;
}

void install_green() {
  is_gone = false;
  next_green = kGreen;
  set_real_for_test<Row::cuGreenCtxCreate>(&make_green);
  set_real_for_test<Row::cuGreenCtxDestroy>(&end_green);
  set_real_for_test<Row::cuCtxFromGreenCtx>(&context_of);
  set_real_for_test<Row::cuDevicePrimaryCtxRetain>(&retain);
  set_real_for_test<Row::cuCtxPushCurrent_v2>(&push_living);
}

class GreenHooksTest : public view_hooks::ViewFixture {
 protected:
  void SetUp() override {
    ViewFixture::SetUp();
    contexts::start_over_in_child();
    swap::forget_scraps_in_child();
    install_green();
    driver_.primary_active = 1;
  }
  void TearDown() override {
    forget<Row::cuGreenCtxCreate, Row::cuGreenCtxDestroy, Row::cuCtxFromGreenCtx>();
    ViewFixture::TearDown();
  }
  void create(CUgreenCtx handle = kGreen) {
    next_green = handle;
    CUgreenCtx green = nullptr;
    EXPECT_EQ(hooks::cuGreenCtxCreate(&green, nullptr, kGpu, 0), CUDA_SUCCESS);
    EXPECT_EQ(green, handle);
    driver_.current = kInGreen;
  }
  static CUdeviceptr allocate(std::size_t size = kUnit) {
    CUdeviceptr address = 0;
    EXPECT_EQ(hooks::cuMemAlloc_v2(&address, size), CUDA_SUCCESS);
    EXPECT_TRUE(swap::is_ours(address));
    return address;
  }
};

TEST_F(GreenHooksTest, ThePrimaryContextIsKnownByThem) {
  create();
  EXPECT_EQ(contexts::primary_of(kGpu), kPrimary);
  EXPECT_FALSE(contexts::is_known(kInGreen));
  EXPECT_EQ(row_of(number_of(kPrimary)).use, RowUse::primary_context);
}

TEST_F(GreenHooksTest, WhatFailsTeachesNothing) {
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  CUgreenCtx green = nullptr;
  EXPECT_EQ(hooks::cuGreenCtxCreate(&green, nullptr, kGpu, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(contexts::primary_of(kGpu), nullptr);
}

TEST_F(GreenHooksTest, TheirMemoryOutlivesThem) {
  create();
  const CUdeviceptr address = allocate();
  EXPECT_EQ(row_of(number_of(kPrimary)).of(MemoryKind::movable).bytes_now, kUnit);
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_SUCCESS);
  driver_.current = kPrimary;
  EXPECT_EQ(hooks::cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_TRUE(pages.mapped.empty());
}

// Another one may have its handle next.
TEST_F(GreenHooksTest, MarksOfOursEndBeforeThem) {
  static bool is_ended_in_time = false;
  is_ended_in_time = false;
  set_real_for_test<Row::cuStreamGetCtx>([](CUstream, CUcontext* out) {
    *out = kInGreen;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuEventCreate>([](CUevent* out, unsigned) {
    *out = handle_of<CUevent>(0x71);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuEventRecord>([](CUevent, CUstream) { return CUDA_SUCCESS; });
  set_real_for_test<Row::cuEventDestroy_v2>([](CUevent event) {
    is_ended_in_time = event == handle_of<CUevent>(0x71) && !is_gone;
    return CUDA_SUCCESS;
  });
  create();
  flow::set_bound(kGpu, 2'000'000);
  EXPECT_TRUE(flow::count(kGpu, handle_of<CUstream>(0x72), 1));
  flow::mark(kGpu, handle_of<CUstream>(0x72));
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_SUCCESS);
  EXPECT_TRUE(is_ended_in_time);
  flow::start_over_in_child();
  forget<Row::cuStreamGetCtx, Row::cuEventCreate, Row::cuEventRecord, Row::cuEventDestroy_v2>();
}

TEST_F(GreenHooksTest, AResetOfThePrimaryContextFreesIt) {
  create();
  allocate();
  allocate(1000);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(kGpu), CUDA_SUCCESS);
  expect_nothing_left();
}

TEST_F(GreenHooksTest, TheLastOfThemEndsThePrimaryContext) {
  create();
  create(kSecond);
  allocate();
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_SUCCESS);
  EXPECT_EQ(contexts::primary_of(kGpu), kPrimary);
  EXPECT_EQ(bytes(MemoryKind::movable), kUnit);
  is_gone = false;
  driver_.primary_active = 0;
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kSecond), CUDA_SUCCESS);
  EXPECT_EQ(contexts::primary_of(kGpu), nullptr);
  expect_nothing_left();
}

// It cannot be made current to learn of its GPU.
TEST_F(GreenHooksTest, SoDoesOneThatAnotherThreadHasCurrent) {
  create();
  allocate();
  set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext context) {
    return context == kInGreen ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
  });
  driver_.current = kPrimary;
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_ERROR_INVALID_VALUE);
  driver_.result = CUDA_SUCCESS;
  driver_.primary_active = 0;
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_SUCCESS);
  EXPECT_EQ(contexts::primary_of(kGpu), nullptr);
  expect_nothing_left();
}

TEST_F(GreenHooksTest, TheirStreamsEndWithThePrimaryContext) {
  set_real_for_test<Row::cuEventCreate>([](CUevent* out, unsigned) {
    *out = handle_of<CUevent>(0xe);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuEventDestroy_v2>([](CUevent) { return CUDA_SUCCESS; });
  set_real_for_test<Row::cuStreamGetCtx>([](CUstream, CUcontext* out) {
    *out = kInGreen;
    return CUDA_SUCCESS;
  });
  create();
  for (CUstream stream : {CU_STREAM_LEGACY, handle_of<CUstream>(0x99)}) {
    for (const bool is_known : {false, true}) {
      pushed = nullptr;
      swap::StreamPlace place;
      EXPECT_EQ(swap::find_stream(stream, place), CUDA_SUCCESS);
      EXPECT_EQ(place.context, number_of(kPrimary));
      EXPECT_EQ(place.device, kGpu);
      EXPECT_EQ(pushed, is_known ? nullptr : kInGreen) << "there its events are made";
    }
  }
  swap::ordered_may_end(number_of(kPrimary));
  EXPECT_TRUE(swap::stream_heap.streams()->is_ending) << "nobody asks about its events";
  swap::ordered_goes_on(number_of(kPrimary));
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(kGpu), CUDA_SUCCESS);
  EXPECT_EQ(swap::stream_heap.streams(), nullptr);
  forget<Row::cuEventCreate, Row::cuEventDestroy_v2, Row::cuStreamGetCtx>();
}

// A free that its stream has not got to yet: nobody could ask afterwards.
void free_in(vmm::HeapStream* stream) {
  const os::FutexGuard guard(swap::lock);
  vmm::HeapBlock* block =
      swap::stream_heap.add(std::uint64_t{1} << 40U, kUnit, kUnit, stream->owner, nullptr);
  ASSERT_NE(block, nullptr);
  swap::stream_heap.begin_free(block);
  const auto ticket = stream->marks.begin();
  stream->marks.end(ticket);
  swap::stream_heap.end_free(block, stream, ticket.number);
}

TEST_F(GreenHooksTest, WhatIsFreedInTheirStreamsIsWaitedForBefore) {
  static int looks = 0;
  static bool is_destroyed_in_time = false;
  looks = 0;
  is_destroyed_in_time = false;
  set_real_for_test<Row::cuEventCreate>([](CUevent* out, unsigned) {
    *out = handle_of<CUevent>(0xe);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuEventQuery>(
      [](CUevent) { return ++looks < 3 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
  set_real_for_test<Row::cuEventDestroy_v2>([](CUevent) {
    is_destroyed_in_time = looks == 3 && !is_gone;
    return CUDA_SUCCESS;
  });
  create();
  swap::StreamPlace place;
  ASSERT_EQ(swap::find_stream(CU_STREAM_LEGACY, place), CUDA_SUCCESS);
  free_in(swap::stream_heap.streams());
  EXPECT_EQ(hooks::cuGreenCtxDestroy(kGreen), CUDA_SUCCESS);
  EXPECT_TRUE(is_destroyed_in_time);
  EXPECT_EQ(swap::stream_heap.streams(), nullptr) << "another context may have the handle next";
  swap::stream_heap.forget();
  forget<Row::cuEventCreate, Row::cuEventQuery, Row::cuEventDestroy_v2>();
}

TEST_F(GreenHooksTest, TheHeapOfKernelsIsThePrimaryContexts) {
  set_real_for_test<Row::cuCtxSetLimit>([](CUlimit, size_t) { return CUDA_SUCCESS; });
  const auto set = [] { hooks::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, std::size_t{1} << 30U); };
  create();
  set();
  driver_.current = kPrimary;
  set();
  EXPECT_EQ(row_of(number_of(kPrimary)).of(MemoryKind::heap).allocations, 1U);
  forget<Row::cuCtxSetLimit>();
}

TEST_F(GreenHooksTest, OneThatIsNobodysGoesToTheDriver) {
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuGreenCtxDestroy(handle_of<CUgreenCtx>(0x99)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GreenHooksTest, AContextThatWasToldOfHasItsOwn) {
  create();
  contexts::created(handle_of<CUcontext>(0x77), kGpu);
  driver_.current = handle_of<CUcontext>(0x77);
  const CUdeviceptr address = allocate();
  EXPECT_EQ(row_of(0x77).of(MemoryKind::movable).bytes_now, kUnit);
  EXPECT_EQ(hooks::cuMemFree_v2(address), CUDA_SUCCESS);
}

class GreenRoomTest : public FullGpuFixture {};

TEST_F(GreenRoomTest, OneIsMadeOnceOthersHaveMadeRoom) {
  install_green();
  come_under_daemon();
  driver_.during = [this] {
    if (room().backing != 0) driver_.result = CUDA_SUCCESS;
  };
  CUgreenCtx green = nullptr;
  EXPECT_EQ(while_others_leave(
                [&] { return hooks::cuGreenCtxCreate(&green, nullptr, FullGpuFixture::kGpu, 0); }),
            CUDA_SUCCESS);
  expect_nothing_held();
  contexts::start_over_in_child();
  forget<Row::cuGreenCtxCreate, Row::cuGreenCtxDestroy, Row::cuCtxFromGreenCtx,
         Row::cuCtxPushCurrent_v2>();
}

}  // namespace
}  // namespace nvs::interposer::memory::greens
