// SPDX-License-Identifier: Apache-2.0
// Every way to allocate under a limit on the tenant's memory.
#include "interposer/memory/fake_account.h"
#include "interposer/memory/hooks_fixture.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory::limits {
namespace {

using account::FakeAccount;

constexpr std::uint64_t kId = 0x7000;
constexpr std::size_t kBytes = 1000;
constexpr CUDA_ARRAY_DESCRIPTOR_v1 kNarrow{10, 4, CU_AD_FORMAT_FLOAT, 2};
constexpr CUDA_ARRAY_DESCRIPTOR kFlat{10, 4, CU_AD_FORMAT_FLOAT, 2};
constexpr CUDA_ARRAY3D_DESCRIPTOR_v1 kNarrowCube{8, 8, 6, CU_AD_FORMAT_HALF, 1, 0};
constexpr CUDA_ARRAY3D_DESCRIPTOR kCube{8, 8, 6, CU_AD_FORMAT_HALF, 1, 0};

template <class Out, int which = 0>
Out* place() {
  static Out out;
  return &out;
}
CUresult free_address() { return hooks::cuMemFree_v2(kId); }
CUresult free_array() { return hooks::cuArrayDestroy(handle_of<CUarray>(kId)); }
CUresult create_on(CUmemLocation location) {
  CUmemAllocationProp prop{};
  prop.location = location;
  return hooks::cuMemCreate(place<CUmemGenericAllocationHandle>(), kBytes, &prop, 0);
}

struct Way {
  const char* name;
  std::uint64_t asked;
  CUresult (*allocate)();
  CUresult (*free)() = &free_address;
};

const Way kWays[] = {
    {"cuMemAlloc", kBytes, [] { return hooks::cuMemAlloc(place<CUdeviceptr_v1>(), kBytes); }},
    {"cuMemAlloc_v2", kBytes, [] { return hooks::cuMemAlloc_v2(place<CUdeviceptr>(), kBytes); }},
    {"cuMemAllocPitch", 300,
     [] {
       return hooks::cuMemAllocPitch(place<CUdeviceptr_v1>(), place<unsigned, 1>(), 100, 3, 4);
     }},
    {"cuMemAllocPitch_v2", 300,
     [] { return hooks::cuMemAllocPitch_v2(place<CUdeviceptr>(), place<size_t, 1>(), 100, 3, 4); }},
    {"cuMemAllocManaged", kBytes,
     [] { return hooks::cuMemAllocManaged(place<CUdeviceptr>(), kBytes, 1); }},
    {"cuMemAllocAsync", kBytes,
     [] { return hooks::cuMemAllocAsync(place<CUdeviceptr>(), kBytes, nullptr); }},
    {"cuMemAllocAsync_ptsz", kBytes,
     [] { return hooks::cuMemAllocAsync_ptsz(place<CUdeviceptr>(), kBytes, nullptr); }},
    {"cuMemAllocFromPoolAsync", kBytes,
     [] {
       return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(), kBytes,
                                             handle_of<CUmemoryPool>(9), nullptr);
     }},
    {"cuMemAllocFromPoolAsync_ptsz", kBytes,
     [] {
       return hooks::cuMemAllocFromPoolAsync_ptsz(place<CUdeviceptr>(), kBytes,
                                                  handle_of<CUmemoryPool>(9), nullptr);
     }},
    {"cuMemCreate", kBytes,
     [] {
       return create_on({CU_MEM_LOCATION_TYPE_DEVICE, 0});
     },
     [] { return hooks::cuMemRelease(kId); }},
    {"cuArrayCreate", 320, [] { return hooks::cuArrayCreate(place<CUarray>(), &kNarrow); },
     &free_array},
    {"cuArrayCreate_v2", 320, [] { return hooks::cuArrayCreate_v2(place<CUarray>(), &kFlat); },
     &free_array},
    {"cuArray3DCreate", 768, [] { return hooks::cuArray3DCreate(place<CUarray>(), &kNarrowCube); },
     &free_array},
    {"cuArray3DCreate_v2", 768, [] { return hooks::cuArray3DCreate_v2(place<CUarray>(), &kCube); },
     &free_array},
    {"cuMipmappedArrayCreate", 768 + 96,
     [] { return hooks::cuMipmappedArrayCreate(place<CUmipmappedArray>(), &kCube, 2); },
     [] { return hooks::cuMipmappedArrayDestroy(handle_of<CUmipmappedArray>(kId)); }},
};

// A daemon has sent the account; the driver's own memory is used.
class LimitHooksTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    session::memory_start_over_in_child();
    driver_.given = kId;
    driver_.pitch = 512;
    session::memory_announces(0);
    session::memory_known(0, false);
  }
  void TearDown() override {
    session::memory_start_over_in_child();
    books().after_fork();
  }
  void join(const FakeAccount& account) {
    account.lend();
    account::gpu_numbered(0, 0);
  }
  bool was_asked(const char* name) {
    for (const std::string& call : take_calls()) {
      if (call == name) return true;
    }
    return false;
  }
};

TEST_F(LimitHooksTest, EveryWayWorksAtTheLimitAndIsRefusedAboveIt) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    FakeAccount account(way.asked - 1);
    join(account);
    EXPECT_EQ(way.allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_FALSE(was_asked(way.name));
    EXPECT_EQ(account.used(), 0U);
    EXPECT_EQ(books().totals().allocations, 0U);
    account.set_limit(way.asked);
    EXPECT_EQ(way.allocate(), CUDA_SUCCESS);
    EXPECT_TRUE(was_asked(way.name));
    EXPECT_EQ(account.used(), way.asked);
    EXPECT_EQ(way.allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(account.used(), way.asked);
    EXPECT_EQ(way.free(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), 0U);
    EXPECT_EQ(way.allocate(), CUDA_SUCCESS);
    OwnerRow last;
    books().ended({OwnerType::context, kContext}, books().now(), last);
    way.free();  // what belongs to no context
    EXPECT_EQ(account.used(), 0U);
  }
}

TEST_F(LimitHooksTest, WhatTheDriverRefusesIsGivenBack) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    const FakeAccount account(kBytes);
    join(account);
    driver_.during = [&] { EXPECT_EQ(account.used(), way.asked); };
    driver_.result = CUDA_ERROR_ILLEGAL_ADDRESS;
    EXPECT_EQ(way.allocate(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(account.used(), 0U);
  }
}

TEST_F(LimitHooksTest, WithoutALimitAllIsCounted) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    FakeAccount account;
    join(account);
    EXPECT_EQ(way.allocate(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), way.asked);
    account.set_limit(1);  // less than there is
    EXPECT_EQ(way.allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(account.used(), way.asked);
    EXPECT_EQ(way.free(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), 0U);
  }
}

TEST_F(LimitHooksTest, MemoryOfTheHostAndOfOtherGpusIsNotLimited) {
  const FakeAccount account(1);
  join(account);
  EXPECT_EQ(create_on({CU_MEM_LOCATION_TYPE_HOST, 0}), CUDA_SUCCESS);
  EXPECT_EQ(create_on({CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}), CUDA_SUCCESS);
  EXPECT_EQ(create_on({CU_MEM_LOCATION_TYPE_DEVICE, 1}), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), 0U);
  driver_.device = 1;
  driver_.current = handle_of<CUcontext>(0xbeef);
  EXPECT_EQ(hooks::cuMemAlloc_v2(place<CUdeviceptr>(), kBytes), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), 0U);
}

TEST_F(LimitHooksTest, MemoryOfAPoolCountsWhereThePoolIs) {
  set_real_for_test<Row::cuMemPoolCreate>([](CUmemoryPool* out, const CUmemPoolProps*) {
    *out = handle_of<CUmemoryPool>(9);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuMemPoolDestroy>([](CUmemoryPool) { return CUDA_SUCCESS; });
  const auto allocate = [] {
    return hooks::cuMemAllocFromPoolAsync(place<CUdeviceptr>(), kBytes, handle_of<CUmemoryPool>(9),
                                          nullptr);
  };
  const auto make_pool = [](CUmemLocation location, CUmemAllocationHandleType handles) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = handles;
    props.location = location;
    EXPECT_EQ(hooks::cuMemPoolCreate(place<CUmemoryPool>(), &props), CUDA_SUCCESS);
  };
  FakeAccount account(kBytes - 1);
  join(account);
  session::memory_announces(1);
  session::memory_known(1, false);
  account::gpu_numbered(1, 1);
  for (const auto type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA}) {
    make_pool({type, 0}, CU_MEM_HANDLE_TYPE_NONE);
    EXPECT_EQ(allocate(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), 0U);
    EXPECT_EQ(free_address(), CUDA_SUCCESS);
    hooks::cuMemPoolDestroy(handle_of<CUmemoryPool>(9));
  }
  for (const auto handles : {CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) {
    make_pool({CU_MEM_LOCATION_TYPE_DEVICE, 1}, handles);
    account.set_limit(kBytes - 1);
    EXPECT_EQ(allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    account.set_limit(kBytes);
    EXPECT_EQ(allocate(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(0, 0), 0U);
    EXPECT_EQ(account.used(0, 1), kBytes);
    EXPECT_EQ(free_address(), CUDA_SUCCESS);
    EXPECT_EQ(account.used(0, 1), 0U);
    hooks::cuMemPoolDestroy(handle_of<CUmemoryPool>(9));
  }
  EXPECT_EQ(allocate(), CUDA_SUCCESS);  // of one that nobody knows
  EXPECT_EQ(account.used(0, 0), kBytes);
}

TEST_F(LimitHooksTest, TheHeapOfKernelsCountsAboveItsUsualSize) {
  static CUresult says;
  says = CUDA_SUCCESS;
  set_real_for_test<Row::cuCtxSetLimit>([](CUlimit, size_t) { return says; });
  constexpr std::size_t kUsual = std::size_t{8} << 20U;
  const auto set = [](std::size_t bytes) {
    return hooks::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes);
  };
  const FakeAccount account(10 * kUsual);
  join(account);
  EXPECT_EQ(set(kUsual), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 100 * kUsual), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), 0U) << "every context has it";
  EXPECT_EQ(set(10 * kUsual + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(set(6 * kUsual), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), 6 * kUsual);
  EXPECT_EQ(set(10 * kUsual), CUDA_SUCCESS) << "in place of what it was";
  EXPECT_EQ(account.used(), 10 * kUsual);
  says = CUDA_ERROR_INVALID_VALUE;  // kernels have been launched that use it
  EXPECT_EQ(set(2 * kUsual), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(account.used(), 10 * kUsual);
  says = CUDA_SUCCESS;
  EXPECT_EQ(set(1), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(set(2 * kUsual), CUDA_SUCCESS);
  OwnerRow last;
  books().ended({OwnerType::context, kContext}, books().now(), last);
  EXPECT_EQ(account.used(), 0U) << "it goes with its context";
  forget<Row::cuCtxSetLimit>();
}

TEST_F(LimitHooksTest, WhatIsWrongTheDriverTells) {
  const FakeAccount account(1);
  join(account);
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuMemAlloc_v2(nullptr, kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAlloc_v2(place<CUdeviceptr>(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAllocManaged(nullptr, kBytes, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAllocAsync(nullptr, kBytes, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemCreate(nullptr, kBytes, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuArrayCreate_v2(nullptr, &kFlat), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMipmappedArrayCreate(nullptr, &kCube, 2), CUDA_ERROR_INVALID_VALUE);
  driver_.answer = CUDA_ERROR_INVALID_CONTEXT;
  EXPECT_EQ(hooks::cuMemAlloc_v2(place<CUdeviceptr>(), kBytes), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LimitHooksTest, RowsThatNobodyCouldCountAreTooMany) {
  const FakeAccount account(kBytes);
  join(account);
  constexpr std::size_t kMost = std::size_t{1} << 40U;
  EXPECT_EQ(hooks::cuMemAllocPitch_v2(place<CUdeviceptr>(), place<size_t, 1>(), kMost, kMost, 4),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(take_calls().empty() || !was_asked("cuMemAllocPitch_v2"));
}

TEST_F(LimitHooksTest, MoreContextsThanThereAreRowsCountAllTheSame) {
  const FakeAccount account(100 * kBytes);
  join(account);
  for (std::uint64_t i = 0; i < 100; ++i) {
    driver_.current = handle_of<CUcontext>(0x1000 + i);
    driver_.given = kId + i;
    EXPECT_EQ(hooks::cuMemAlloc_v2(place<CUdeviceptr>(), kBytes), CUDA_SUCCESS);
  }
  EXPECT_EQ(account.used(), 100 * kBytes);
  EXPECT_EQ(hooks::cuMemAlloc_v2(place<CUdeviceptr>(), 1), CUDA_ERROR_OUT_OF_MEMORY);
  for (std::uint64_t i = 0; i < 100; ++i) hooks::cuMemFree_v2(kId + i);
  EXPECT_EQ(account.used(), 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory::limits
