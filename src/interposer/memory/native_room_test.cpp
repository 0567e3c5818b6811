// SPDX-License-Identifier: Apache-2.0
// Allocations that stay the driver's own, on a GPU that is full of others' memory.
#include "interposer/memory/fixed.h"
#include "interposer/memory/full_gpu_fixture.h"

namespace nvs::interposer::memory::native_room {
namespace {

constexpr int kGpu = 1;
constexpr std::uint64_t kPage = 2 * vmm::kMiB;
constexpr std::size_t kBytes = kPage + 1;  // as the driver takes it: two pages
constexpr std::uint64_t kId = 0x7000;
constexpr std::size_t kUsualHeap = std::size_t{8} << 20U;
constexpr CUDA_ARRAY_DESCRIPTOR_v1 kNarrow{1 << 10U, 1 << 10U, CU_AD_FORMAT_HALF, 2};
constexpr CUDA_ARRAY_DESCRIPTOR kFlat{1 << 10U, 1 << 10U, CU_AD_FORMAT_HALF, 2};
constexpr CUDA_ARRAY3D_DESCRIPTOR_v1 kNarrowBlock{1 << 10U, 1 << 9U, 2, CU_AD_FORMAT_HALF, 2, 0};
constexpr CUDA_ARRAY3D_DESCRIPTOR kBlock{1 << 10U, 1 << 9U, 2, CU_AD_FORMAT_HALF, 2, 0};
const auto kPool = handle_of<CUmemoryPool>(9);

template <class Out, int which = 0>
Out* place() {
  static Out out;
  return &out;
}

CUresult create_on(CUmemLocation location) {
  CUmemAllocationProp prop{};
  prop.location = location;
  prop.allocFlags.compressionType = 1;
  return hooks::cuMemCreate(place<CUmemGenericAllocationHandle>(), kBytes, &prop, 0);
}

struct Way {
  const char* name;
  CUresult (*allocate)();
  bool is_fixed = true;  // known to be on the GPU, and to stay there
  std::uint64_t room = 2 * kPage;
};

// What moves where the driver can do that, which this one cannot, is among them.
const Way kWays[] = {
    {"cuMemAlloc", [] { return hooks::cuMemAlloc(place<CUdeviceptr_v1>(), kBytes); }},
    {"cuMemAlloc_v2", [] { return hooks::cuMemAlloc_v2(place<CUdeviceptr>(), kBytes); }},
    {"cuMemAllocPitch",
     [] {
       return hooks::cuMemAllocPitch(place<CUdeviceptr_v1>(), place<unsigned, 1>(), kPage, 2, 4);
     }},
    {"cuMemAllocPitch_v2",
     [] {
       return hooks::cuMemAllocPitch_v2(place<CUdeviceptr>(), place<size_t, 1>(), kPage, 2, 4);
     }},
    {"cuMemAllocManaged", [] { return hooks::cuMemAllocManaged(place<CUdeviceptr>(), kBytes, 1); },
     false},
    {"cuMemAllocAsync",
     [] { return hooks::cuMemAllocAsync(place<CUdeviceptr>(), kBytes, nullptr); }},
    {"cuMemAllocAsync_ptsz",
     [] { return hooks::cuMemAllocAsync_ptsz(place<CUdeviceptr>(), kBytes, nullptr); }},
    {"cuMemAllocFromPoolAsync",
     [] { return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(), kBytes, kPool, nullptr); }},
    {"cuMemAllocFromPoolAsync_ptsz",
     [] {
       return hooks::cuMemAllocFromPoolAsync_ptsz(place<CUdeviceptr>(), kBytes, kPool, nullptr);
     }},
    {"cuMemCreate",
     [] {
       return create_on({CU_MEM_LOCATION_TYPE_DEVICE, kGpu});
     }},
    {"cuArrayCreate", [] { return hooks::cuArrayCreate(place<CUarray>(), &kNarrow); }},
    {"cuArrayCreate_v2", [] { return hooks::cuArrayCreate_v2(place<CUarray>(), &kFlat); }},
    {"cuArray3DCreate", [] { return hooks::cuArray3DCreate(place<CUarray>(), &kNarrowBlock); }},
    {"cuArray3DCreate_v2", [] { return hooks::cuArray3DCreate_v2(place<CUarray>(), &kBlock); }},
    {"cuMipmappedArrayCreate",
     [] { return hooks::cuMipmappedArrayCreate(place<CUmipmappedArray>(), &kBlock, 1); }},
    {"cuCtxSetLimit",
     [] { return hooks::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, kUsualHeap + kBytes); }, false,
     kUsualHeap + 2 * kPage},
};

class NativeRoomTest : public FullGpuFixture {
 protected:
  void SetUp() override {
    FullGpuFixture::SetUp();
    driver_.given = kId;
    driver_.pitch = kPage;
    set_real_for_test<Row::cuCtxSetLimit>([](CUlimit, size_t) {
      if (mock_driver().during) mock_driver().during();
      return mock_driver().result;
    });
    set_real_for_test<Row::cuMemPoolCreate>([](CUmemoryPool* out, const CUmemPoolProps*) {
      *out = kPool;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuMemPoolDestroy>([](CUmemoryPool) { return CUDA_SUCCESS; });
    // Nothing is known of streams, so that their memory is the driver's.
    set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext) { return CUDA_ERROR_UNKNOWN; });
    set_real_for_test<Row::cuStreamGetCtx>([](CUstream, CUcontext*) { return CUDA_ERROR_UNKNOWN; });
  }
  void TearDown() override {
    hooks::cuMemPoolDestroy(kPool);
    forget<Row::cuCtxSetLimit, Row::cuMemPoolCreate, Row::cuMemPoolDestroy,
           Row::cuCtxPushCurrent_v2, Row::cuStreamGetCtx>();
    FullGpuFixture::TearDown();
  }

  // The driver has memory where we have this much room.
  void give_in_room(std::uint64_t bytes) {
    driver_.during = [this, bytes] {
      if (room().backing == 0) return;
      EXPECT_EQ(room().backing, bytes);
      driver_.result = CUDA_SUCCESS;
    };
  }
  void expect_refused_at_once(CUresult (*allocate)()) {
    int tries = 0;
    driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
    driver_.during = [&] {
      if (++tries > 1) driver_.result = CUDA_ERROR_UNKNOWN;
    };
    EXPECT_EQ(while_others_leave(allocate), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(tries, 1);
    expect_nothing_held();
  }
  static CUresult from_pool() {
    return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(), kBytes, kPool, nullptr);
  }
  static void make_pool(const CUmemLocation& location, std::size_t most) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    props.location = location;
    props.maxSize = most;
    EXPECT_EQ(hooks::cuMemPoolCreate(place<CUmemoryPool>(), &props), CUDA_SUCCESS);
  }
};

TEST_F(NativeRoomTest, WithoutADaemonTheDriversAnswerStandsAtOnce) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    expect_refused_at_once(way.allocate);
  }
}

TEST_F(NativeRoomTest, EveryWaySucceedsOnceOthersHaveMadeRoom) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    come_under_daemon();
    give_in_room(way.room);
    EXPECT_EQ(while_others_leave(way.allocate), CUDA_SUCCESS);
    EXPECT_GE(fixed_on(kGpu), way.is_fixed ? kBytes - 1 : 0) << "as ever";
    EXPECT_FALSE(room().is_crowded) << "that is nothing that will have to move";
    expect_nothing_held();
  }
}

TEST_F(NativeRoomTest, WhatIsBeyondTheLimitIsNotWaitedFor) {
  come_under_daemon();
  for (const bool is_shared : {true, false}) {
    room().shared = is_shared;
    session::set_visible({.ordinal = kGpu, .total = kTotal, .limit = kBytes - 2});
    for (const Way& way : kWays) {
      SCOPED_TRACE(way.name);
      expect_refused_at_once(way.allocate);
    }
  }
}

// The driver has less than the daemon thinks: that is said, and as much is asked for again.
TEST_F(NativeRoomTest, NoMoreIsHeldThanWasAskedFor) {
  come_under_daemon();
  allow(kTotal);
  int tries = 0;
  bool was_short = false;
  driver_.during = [&] {
    was_short = was_short || room().is_short;
    EXPECT_TRUE(room().backing == 0 || room().backing == 2 * kPage) << room().backing;
    if (++tries == 40) driver_.result = CUDA_SUCCESS;
  };
  EXPECT_EQ(hooks::cuArrayCreate_v2(place<CUarray>(), &kFlat), CUDA_SUCCESS);
  EXPECT_TRUE(was_short);
  expect_nothing_held();
}

TEST_F(NativeRoomTest, MemoryOfTheHostNeedsNone) {
  come_under_daemon();
  expect_refused_at_once([] { return create_on({CU_MEM_LOCATION_TYPE_HOST, 0}); });
  make_pool({CU_MEM_LOCATION_TYPE_HOST, 0}, 0);
  expect_refused_at_once(&from_pool);
}

TEST_F(NativeRoomTest, APoolHasItsRoomWhereItIs) {
  come_under_daemon();
  driver_.device = 0;
  make_pool({CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, 0);
  give_in_room(2 * kPage);
  EXPECT_EQ(while_others_leave(&from_pool), CUDA_SUCCESS);
  expect_nothing_held();
}

TEST_F(NativeRoomTest, MemoryOfAPoolCountsWhereThePoolIs) {
  come_under_daemon();
  driver_.device = 0;
  driver_.current = handle_of<CUcontext>(kContext);
  driver_.result = CUDA_SUCCESS;
  make_pool({CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, 0);
  EXPECT_EQ(from_pool(), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(kGpu), kBytes);
  EXPECT_EQ(fixed_on(0), 0U);
  EXPECT_EQ(books().charged(kGpu), kBytes);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(driver_.current), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(kGpu), kBytes) << "it is of no context";
  EXPECT_EQ(hooks::cuMemFreeAsync(kId, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(kGpu), 0U);
  make_pool({CU_MEM_LOCATION_TYPE_HOST, 0}, 0);
  EXPECT_EQ(from_pool(), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(kGpu) + fixed_on(0), 0U) << "the host's is on no GPU";
}

TEST_F(NativeRoomTest, DefaultPoolsOfOtherGpusAreFoundOnce) {
  static int asked;
  asked = 0;
  come_under_daemon();
  driver_.device = 0;
  driver_.result = CUDA_SUCCESS;
  set_real_for_test<Row::cuDeviceGetCount>([](int* count) {
    *count = 2;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuDeviceGetDefaultMemPool>([](CUmemoryPool* pool, CUdevice device) {
    ++asked;
    *pool = device == kGpu ? kPool : handle_of<CUmemoryPool>(8);
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(from_pool(), CUDA_SUCCESS);
  EXPECT_EQ(from_pool(), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(kGpu), kBytes) << "both at one address";
  EXPECT_EQ(fixed_on(0), 0U);
  EXPECT_EQ(asked, 2);
  forget<Row::cuDeviceGetCount, Row::cuDeviceGetDefaultMemPool>();
}

TEST_F(NativeRoomTest, APoolThatIsFullByItsOwnLimitDoesNotWait) {
  come_under_daemon();
  make_pool({CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, kBytes);
  expect_refused_at_once(&from_pool);
}

TEST_F(NativeRoomTest, SoDoesNotTheCurrentPoolThatIsFull) {
  set_real_for_test<Row::cuDeviceSetMemPool>([](CUdevice, CUmemoryPool) { return CUDA_SUCCESS; });
  set_real_for_test<Row::cuDeviceGetMemPool>([](CUmemoryPool* pool, CUdevice) {
    *pool = handle_of<CUmemoryPool>(8);
    return CUDA_SUCCESS;
  });
  const auto in_stream = [] {
    return hooks::cuMemAllocAsync(place<CUdeviceptr>(), kBytes, nullptr);
  };
  come_under_daemon();
  make_pool({CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, kBytes);
  EXPECT_EQ(hooks::cuDeviceSetMemPool(kGpu, kPool), CUDA_SUCCESS);
  expect_refused_at_once(in_stream);
  // With the pool its maximum goes: the default one is current then.
  EXPECT_EQ(hooks::cuMemPoolDestroy(kPool), CUDA_SUCCESS);
  make_pool({CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, kBytes);
  give_in_room(2 * kPage);
  EXPECT_EQ(while_others_leave(in_stream), CUDA_SUCCESS);
  expect_nothing_held();
  forget<Row::cuDeviceSetMemPool, Row::cuDeviceGetMemPool>();
}

TEST_F(NativeRoomTest, ACapturedStreamDoesNotWait) {
  come_under_daemon();
  driver_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  expect_refused_at_once([] {
    return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(), kBytes, kPool,
                                          handle_of<CUstream>(0x5));
  });
}

}  // namespace
}  // namespace nvs::interposer::memory::native_room
