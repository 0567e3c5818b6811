// SPDX-License-Identifier: Apache-2.0
// Which GPUs may use movable memory of another one, and since when no more.
#include <functional>
#include <utility>

#include "interposer/memory/movable_fixture.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/session/client.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::memory::peers {
namespace {

constexpr int kOwner = 0;
constexpr int kUser = 1;
constexpr std::uint64_t kPool = 9;
const auto kOwners = handle_of<CUcontext>(0xc0de);
const auto kUsers = handle_of<CUcontext>(0xbeef);
const auto kOtherUsers = handle_of<CUcontext>(0xfeed);
const auto kOtherOwners = handle_of<CUcontext>(0xcafe);

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
      const bool is_owners = stack.back() == kOwners || stack.back() == kOtherOwners;
      *device = is_owners ? kOwner : kUser;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuCtxGetCurrent>([](CUcontext* context) {
      *context = stack.back();
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
  static void enable(CUcontext user, CUcontext owner = kOwners) {
    stack.back() = user;
    EXPECT_EQ(hooks::cuCtxEnablePeerAccess(owner, 0), CUDA_SUCCESS);
  }
  static void disable(CUcontext user, CUcontext owner = kOwners) {
    stack.back() = user;
    EXPECT_EQ(hooks::cuCtxDisablePeerAccess(owner), CUDA_SUCCESS);
  }
  static void expect_access(bool is_given) {
    EXPECT_EQ(swap::users_of(kOwner), is_given ? 3U : 1U) << "what comes in from now on";
    EXPECT_EQ(access_now,
              is_given ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE)
        << "and what is there";
  }
};

// An allocation of the owner's, and what happens to access while its pages are mapped.
class PeerDraftTest : public PeerHooksTest {
 protected:
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 42U;

  void SetUp() override {
    PeerHooksTest::SetUp();
    users_now = 0;
    set_real_for_test<Row::cuDeviceGetAttribute>([](int* out, CUdevice_attribute, CUdevice) {
      *out = 1;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuMemGetAllocationGranularity>(
        [](size_t* out, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
          *out = kUnit;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuMemAddressReserve>(
        [](CUdeviceptr* out, size_t, size_t, CUdeviceptr, unsigned long long) {
          *out = kBase;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuMemAddressFree>([](CUdeviceptr, size_t) { return CUDA_SUCCESS; });
    set_real_for_test<Row::cuMemSetAccess>(&set_access);
  }
  void TearDown() override {
    forget<Row::cuDeviceGetAttribute, Row::cuMemGetAllocationGranularity, Row::cuMemAddressReserve,
           Row::cuMemAddressFree>();
    PeerHooksTest::TearDown();
  }
  static CUresult set_access(CUdeviceptr address, size_t, const CUmemAccessDesc* access,
                             size_t count) {
    if (address != kBase) return CUDA_SUCCESS;
    for (size_t i = 0; i < count; ++i) {
      const std::uint32_t bit = 1U << access[i].location.id;
      const bool is_given = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      users_now = is_given ? users_now | bit : users_now & ~bit;
    }
    const auto meanwhile = std::exchange(then, nullptr);
    if (meanwhile) meanwhile();
    return CUDA_SUCCESS;
  }
  // By a thread of the other GPU.
  static void from_there(void (*call)()) {
    stack.push_back(kUsers);
    call();
    stack.pop_back();
  }
  static void expect_shared(std::uint32_t users) {
    stack.back() = kOwners;
    CUdeviceptr address = 0;
    EXPECT_EQ(hooks::cuMemAlloc_v2(&address, 2 * kUnit), CUDA_SUCCESS);
    EXPECT_EQ(address, kBase);
    EXPECT_EQ(users_now, users);
  }

  static inline std::uint32_t users_now;
  static inline std::function<void()> then;
};

TEST_F(PeerDraftTest, AccessThatComesMeanwhileIsGiven) {
  then = [] { from_there([] { enable(kUsers); }); };
  expect_shared(3);
}

TEST_F(PeerDraftTest, ThatOfAPoolToo) {
  then = [] { from_there(&open_pool); };
  expect_shared(3);
}

TEST_F(PeerDraftTest, AccessThatGoesAndComesBackIsGiven) {
  from_there([] { enable(kUsers); });
  set_real_for_test<Row::cuMemMap>(
      [](CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
        from_there([] { disable(kUsers); });
        return CUDA_SUCCESS;
      });
  then = [] { from_there([] { enable(kUsers); }); };
  expect_shared(3);
}

TEST_F(PeerHooksTest, AccessOfContextsComesAndGoes) {
  EXPECT_EQ(hooks::cuCtxEnablePeerAccess(kOwners, 0), CUDA_SUCCESS);
  expect_access(true);
  EXPECT_EQ(hooks::cuCtxDisablePeerAccess(kOwners), CUDA_SUCCESS);
  expect_access(false);
}

TEST_F(PeerHooksTest, TheLastOfSeveralContextsTakesItAlong) {
  enable(kUsers);
  enable(kOtherUsers);
  enable(kUsers, kOtherOwners);
  disable(kUsers);
  expect_access(true);
  disable(kOtherUsers);
  expect_access(true);
  disable(kUsers, kOtherOwners);
  expect_access(false);
}

TEST_F(PeerHooksTest, ContextsThatEndGiveBackWhatTheyEnabled) {
  enable(kUsers);
  enable(kOtherUsers);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kOtherUsers), CUDA_SUCCESS);
  expect_access(true);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kUsers), CUDA_SUCCESS);
  expect_access(false);
  enable(kUsers, kOtherOwners);
  expect_access(true);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kOtherOwners), CUDA_SUCCESS);
  expect_access(false);
}

// What was given to the user's GPU may still be at work on the owner's memory, until a drain.
class PeerWorkTest : public PeerHooksTest {
 protected:
  void SetUp() override {
    PeerHooksTest::SetUp();
    session::gpus[kUser].phase = session::Phase::open;
  }
  void TearDown() override {
    session::gpus[kUser].phase = session::Phase::unused;
    session::gpus[kUser].unsettled = false;
    PeerHooksTest::TearDown();
  }
};

TEST_F(PeerWorkTest, WithoutAccessItGoesOnUntilADrain) {
  enable(kUsers);
  disable(kUsers);
  EXPECT_TRUE(swap::has_crossed(kOwner, kUser));
  swap::stands_still(kUser);
  EXPECT_EQ(swap::touched_by(kOwner), 1U);
}

// Nobody would drain it for that again.
TEST_F(PeerWorkTest, ThereIsNoneOnAGpuThatStandsStill) {
  session::gpus[kUser].phase = session::Phase::closed;
  enable(kUsers);
  disable(kUsers);
  EXPECT_FALSE(swap::has_crossed(kOwner, kUser));
  session::gpus[kUser].unsettled = true;
  enable(kUsers);
  disable(kUsers);
  EXPECT_TRUE(swap::has_crossed(kOwner, kUser));
}

TEST_F(PeerWorkTest, AContextThatEndsHasNone) {
  enable(kUsers);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kUsers), CUDA_SUCCESS);
  EXPECT_EQ(swap::touched_by(kOwner), 1U);
  enable(kUsers, kOtherOwners);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kOtherOwners), CUDA_SUCCESS);
  EXPECT_EQ(swap::touched_by(kOwner), 1U);
}

TEST_F(PeerWorkTest, ThatOfOthersOutlivesTheLastContextWithAccess) {
  enable(kUsers);
  enable(kOtherUsers);
  disable(kUsers);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kOtherUsers), CUDA_SUCCESS);
  expect_access(false);
  EXPECT_TRUE(swap::has_crossed(kOwner, kUser));
}

// A green context on the user's side, and one on the owner's.
TEST_F(PeerHooksTest, AccessOfGreenContextsEndsWithThePrimaryOne) {
  const auto green = handle_of<CUcontext>(0x900d);
  contexts::start_over_in_child();
  contexts::primary_created(kUsers, kUser);
  contexts::primary_created(kOtherOwners, kOwner);
  enable(green);
  expect_access(true);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kUsers), CUDA_SUCCESS);
  expect_access(false);
  contexts::primary_created(kUsers, kUser);
  enable(kUsers, kOwners);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(kOtherOwners), CUDA_SUCCESS);
  expect_access(false);
  contexts::start_over_in_child();
}

TEST_F(PeerHooksTest, WhatIsTooManyToTellApartStays) {
  const auto user = [](int number) { return handle_of<CUcontext>(0x10000 + number); };
  for (int i = 0; i < swap::kContextPairsMax; ++i) enable(user(i));
  for (int i = 0; i < swap::kContextPairsMax; ++i) disable(user(i));
  expect_access(false);
  for (int i = 0; i <= swap::kContextPairsMax; ++i) enable(user(i));
  for (int i = 0; i <= swap::kContextPairsMax; ++i) disable(user(i));
  expect_access(true);
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
