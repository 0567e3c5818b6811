// SPDX-License-Identifier: Apache-2.0
// Which GPUs may use movable memory of another one, and since when no more.
#include "interposer/memory/movable_fixture.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/peers.h"

namespace nvs::interposer::memory::peers {
namespace {

constexpr int kOwner = 0;
constexpr int kUser = 1;
constexpr std::uint64_t kPool = 9;
const auto kOwners = handle_of<CUcontext>(0xc0de);
const auto kUsers = handle_of<CUcontext>(0xbeef);

std::vector<CUcontext> stack;
CUmemAccess_flags access_now;

// Contexts of two GPUs, one of which is current.
class PeerHooksTest : public MovableFixture {
 protected:
  void SetUp() override {
    MovableFixture::SetUp();
    stack = {kUsers};
    access_now = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    bring(region_);
    set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext context) {
      stack.push_back(context);
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuCtxPopCurrent_v2>([](CUcontext* context) {
      *context = stack.back();
      stack.pop_back();
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* device) {
      *device = stack.back() == kOwners ? kOwner : kUser;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuMemSetAccess>(
        [](CUdeviceptr, size_t, const CUmemAccessDesc* access, size_t) {
          EXPECT_EQ(access->location.id, kUser);
          access_now = access->flags;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuCtxEnablePeerAccess>([](CUcontext, unsigned) { return CUDA_SUCCESS; });
    set_real_for_test<Row::cuCtxDisablePeerAccess>([](CUcontext) { return CUDA_SUCCESS; });
    set_real_for_test<Row::cuMemPoolSetAccess>(
        [](CUmemoryPool, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; });
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, kOwner};
    swap::pool_created(kPool, props);
  }
  void TearDown() override {
    swap::pool_ends(kPool);
    swap::forget_peers_in_child();
    forget<Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2, Row::cuMemSetAccess,
           Row::cuCtxEnablePeerAccess, Row::cuCtxDisablePeerAccess, Row::cuMemPoolSetAccess>();
    MovableFixture::TearDown();
  }
  static void open_pool() {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, kUser},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(hooks::cuMemPoolSetAccess(handle_of<CUmemoryPool>(kPool), &access, 1), CUDA_SUCCESS);
  }
  static void expect_access(bool is_given) {
    EXPECT_EQ(swap::users_of(kOwner), is_given ? 3U : 1U) << "what comes in from now on";
    EXPECT_EQ(access_now,
              is_given ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE)
        << "and what is there";
  }
};

TEST_F(PeerHooksTest, AccessOfContextsComesAndGoes) {
  EXPECT_EQ(hooks::cuCtxEnablePeerAccess(kOwners, 0), CUDA_SUCCESS);
  expect_access(true);
  EXPECT_EQ(hooks::cuCtxDisablePeerAccess(kOwners), CUDA_SUCCESS);
  expect_access(false);
}

TEST_F(PeerHooksTest, WhatAPoolGaveStaysWhenAccessOfContextsGoes) {
  open_pool();
  expect_access(true);
  hooks::cuCtxEnablePeerAccess(kOwners, 0);
  hooks::cuCtxDisablePeerAccess(kOwners);
  expect_access(true);
  hooks::cuCtxEnablePeerAccess(kOwners, 0);
  open_pool();
  hooks::cuCtxDisablePeerAccess(kOwners);
  expect_access(true);
}

}  // namespace
}  // namespace nvs::interposer::memory::peers
