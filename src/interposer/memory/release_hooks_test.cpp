// SPDX-License-Identifier: Apache-2.0
// Releases of a primary context: only the last one ends it, and what we have there with it.
#include <atomic>
#include <mutex>
#include <thread>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/lane.h"
#include "interposer/session/contexts.h"
#include "interposer/session/retains.h"

namespace nvs::interposer::memory::releases {
namespace {

constexpr int kGpu = 1;
constexpr CUdeviceptr kScrap = 0x5c4a0;

std::atomic<int> streams_made{0};
std::atomic<int> streams_there{0};
std::atomic<int> events_there{0};
CUresult made = CUDA_SUCCESS;

CUresult make_stream(CUstream* out, unsigned) {
  *out = handle_of<CUstream>(static_cast<std::uint64_t>(++streams_made));
  ++streams_there;
  return CUDA_SUCCESS;
}
CUresult end_stream(CUstream) {
  --streams_there;
  return CUDA_SUCCESS;
}
CUresult make_event(CUevent* out, unsigned) {
  if (made != CUDA_SUCCESS) return made;
  *out = handle_of<CUevent>(static_cast<std::uint64_t>(++events_there));
  // On a full card there is room for some of them.
  if (events_there == 3 && made == CUDA_SUCCESS) made = CUDA_ERROR_OUT_OF_MEMORY;
  return CUDA_SUCCESS;
}
CUresult make_event_always(CUevent* out, unsigned) {
  *out = handle_of<CUevent>(1);
  return CUDA_SUCCESS;
}
CUresult end_event(CUevent) {
  --events_there;
  return CUDA_SUCCESS;
}
CUresult load_nothing(CUmodule*, const void*) { return CUDA_ERROR_OUT_OF_MEMORY; }
CUresult push(CUcontext) { return CUDA_SUCCESS; }
CUresult pop(CUcontext*) { return CUDA_SUCCESS; }

class ReleaseHooksTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    streams_made = streams_there = events_there = 0;
    made = CUDA_SUCCESS;
    set_real_for_test<Row::cuStreamCreate>(&make_stream);
    set_real_for_test<Row::cuStreamDestroy_v2>(&end_stream);
    set_real_for_test<Row::cuEventCreate>(&make_event_always);
    set_real_for_test<Row::cuEventDestroy_v2>(&end_event);
    set_real_for_test<Row::cuModuleLoadData>(&load_nothing);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    start_over();
  }
  void TearDown() override {
    start_over();
    forget<Row::cuStreamCreate, Row::cuStreamDestroy_v2, Row::cuEventCreate, Row::cuEventDestroy_v2,
           Row::cuModuleLoadData, Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2>();
  }
  static void start_over() {
    swap::forget_lanes_in_child();
    swap::forget_scraps_in_child();
    forget_samples_in_child();
    contexts::start_over_in_child();
    retains::start_over_in_child();
  }

  void retain() {
    driver_.given = kContext;
    driver_.primary_active = 1;
    ASSERT_EQ(hooks::cuDevicePrimaryCtxRetain(&context_, kGpu), CUDA_SUCCESS);
  }
  void release(int active) {
    driver_.primary_active = active;
    ASSERT_EQ(hooks::cuDevicePrimaryCtxRelease_v2(kGpu), CUDA_SUCCESS);
  }
  // What the library has in a context that it moves memory of.
  void use_context() {
    swap::Lane lane;
    ASSERT_TRUE(lane.take(context_, kGpu));
    lane.give_back();
    swap::keep_scrap(kContext, kScrap);
    driver_.given = kScrap + 1;
    ASSERT_EQ(sample_in(kContext), kScrap + 1);
    driver_.given = kScrap + 2;  // of a new one
  }
  void expect_all_there() {
    const int before = streams_made;
    swap::Lane lane;
    ASSERT_TRUE(lane.take(context_, kGpu));
    lane.give_back();
    EXPECT_EQ(streams_made, before) << "they were made anew";
    EXPECT_EQ(sample_in(kContext), kScrap + 1);
    EXPECT_EQ(swap::take_scrap(kContext), kScrap);
    swap::keep_scrap(kContext, kScrap);
  }
  void expect_nothing_there() {
    EXPECT_EQ(swap::take_scrap(kContext), 0U);
    swap::Lane lane;
    EXPECT_FALSE(lane.take(context_, kGpu));
    // Under its old handle it starts anew.
    const int before = streams_made;
    retain();
    driver_.given = kScrap + 2;
    EXPECT_EQ(sample_in(kContext), kScrap + 2);
    ASSERT_TRUE(lane.take(context_, kGpu));
    lane.give_back();
    EXPECT_GT(streams_made, before);
  }

  CUcontext context_ = nullptr;
};

TEST_F(ReleaseHooksTest, OnlyTheLastOneEndsWhatWeHaveThere) {
  retain();
  use_context();
  for (int i = 0; i < 10; ++i) {
    retain();
    release(1);
  }
  expect_all_there();
  release(0);
  expect_nothing_there();
}

TEST_F(ReleaseHooksTest, OthersDisturbNobody) {
  retain();
  retain();
  driver_.during = [] { EXPECT_FALSE(contexts::is_any_ending(kGpu)); };
  release(1);
}

// Somebody has retained it past us.
TEST_F(ReleaseHooksTest, WhatGoesOnAllTheSameKeepsWhatWeHaveThere) {
  retain();
  use_context();
  driver_.during = [] { EXPECT_TRUE(contexts::is_any_ending(kGpu)); };
  release(1);
  release(1);
  driver_.during = nullptr;
  expect_all_there();
  release(0);
  expect_nothing_there();
}

TEST_F(ReleaseHooksTest, OneThatIsGoneAllTheSameHasNothingLeft) {
  retain();
  retain();
  retain();
  use_context();
  release(0);
  expect_nothing_there();
  // It is held once since.
  driver_.during = [] { EXPECT_TRUE(contexts::is_any_ending(kGpu)); };
  release(0);
}

// As measured: whoever held it before still has to release it.
TEST_F(ReleaseHooksTest, AResetEndsItAndItIsHeldAsBefore) {
  retain();
  use_context();
  ASSERT_EQ(hooks::cuDevicePrimaryCtxReset_v2(kGpu), CUDA_SUCCESS);
  expect_nothing_there();  // which retains it
  driver_.during = [] { EXPECT_FALSE(contexts::is_any_ending(kGpu)); };
  release(1);
  driver_.during = [] { EXPECT_TRUE(contexts::is_any_ending(kGpu)); };
  release(0);
}

TEST_F(ReleaseHooksTest, CallsThatFailChangeNothing) {
  retain();
  use_context();
  driver_.result = CUDA_ERROR_UNKNOWN;
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(&context_, kGpu), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxRelease_v2(kGpu), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(hooks::cuDevicePrimaryCtxReset_v2(kGpu), CUDA_ERROR_UNKNOWN);
  driver_.result = CUDA_SUCCESS;
  expect_all_there();
  retain();
  driver_.during = [] { EXPECT_FALSE(contexts::is_any_ending(kGpu)); };
  release(1);
}

TEST_F(ReleaseHooksTest, StreamsThatCouldNotAllBeMadeAreNotLeftBehind) {
  retain();
  set_real_for_test<Row::cuEventCreate>(&make_event);
  swap::Lane lane;
  EXPECT_FALSE(lane.take(context_, kGpu));
  EXPECT_EQ(streams_made, 2);
  EXPECT_EQ(streams_there, 0);
  EXPECT_EQ(events_there, 0);
}

// A driver that counts, for threads: what ends is about to end, and what is new is not.
std::mutex fake_lock;
int fake_held = 0;
int fake_ends = 0;

CUresult fake_retain(CUcontext* out, CUdevice) {
  const std::lock_guard guard(fake_lock);
  const bool is_new = fake_held++ == 0;
  EXPECT_FALSE(is_new && contexts::is_any_ending(kGpu));
  *out = handle_of<CUcontext>(0xc0de);
  return CUDA_SUCCESS;
}
CUresult fake_release(CUdevice) {
  const std::lock_guard guard(fake_lock);
  if (--fake_held > 0) return CUDA_SUCCESS;
  EXPECT_TRUE(contexts::is_any_ending(kGpu)) << "work of ours may be under way there";
  ++fake_ends;
  return CUDA_SUCCESS;
}
CUresult fake_state(CUdevice, unsigned* flags, int* active) {
  const std::lock_guard guard(fake_lock);
  *flags = 0;
  *active = fake_held > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

void install_fake() {
  set_real_for_test<Row::cuDevicePrimaryCtxRetain>(&fake_retain);
  set_real_for_test<Row::cuDevicePrimaryCtxRelease_v2>(&fake_release);
  set_real_for_test<Row::cuDevicePrimaryCtxGetState>(&fake_state);
  fake_held = fake_ends = 0;
}

// The first to come is the last to be served, if the others do not wait for it.
std::atomic<int> slow_begun{0};
std::atomic<int> slow_done{0};

CUresult slow_release(CUdevice device) {
  constexpr int kLooks = 20'000;
  if (slow_begun++ == 0) {
    for (int i = 0; i < kLooks && slow_done == 0; ++i) std::this_thread::yield();
  }
  const CUresult result = fake_release(device);
  ++slow_done;
  return result;
}

TEST_F(ReleaseHooksTest, TheLastOneComesAfterThoseBeforeIt) {
  install_fake();
  set_real_for_test<Row::cuDevicePrimaryCtxRelease_v2>(&slow_release);
  slow_begun = slow_done = 0;
  for (int i = 0; i < 2; ++i) hooks::cuDevicePrimaryCtxRetain(&context_, kGpu);
  const auto release_one = [] { hooks::cuDevicePrimaryCtxRelease_v2(kGpu); };
  std::thread first(release_one);
  while (slow_begun == 0) std::this_thread::yield();
  std::thread second(release_one);
  first.join();
  second.join();
  EXPECT_EQ(fake_ends, 1);
  EXPECT_EQ(contexts::primary_of(kGpu), nullptr);
}

TEST_F(ReleaseHooksTest, ThreadsAreTold) {
  install_fake();
  const auto work = [] {
    for (int i = 0; i < 500; ++i) {
      CUcontext context = nullptr;
      EXPECT_EQ(hooks::cuDevicePrimaryCtxRetain(&context, kGpu), CUDA_SUCCESS);
      EXPECT_EQ(contexts::primary_of(kGpu), context) << "it is held";
      EXPECT_EQ(hooks::cuDevicePrimaryCtxRelease_v2(kGpu), CUDA_SUCCESS);
    }
  };
  std::thread threads[] = {std::thread(work), std::thread(work), std::thread(work)};
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(fake_ends, 0);
  EXPECT_EQ(contexts::primary_of(kGpu), nullptr);
}

}  // namespace
}  // namespace nvs::interposer::memory::releases
