// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory: it is there from the call on for its stream, it goes when the stream gets
// to the free, and its pool uses it again only where the order of streams allows it.
#include <csignal>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gate.h"
#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kPoolFloats = 4096;
constexpr std::size_t kPoolStripe = 256;  // what kernels compute of so many
constexpr std::size_t kPoolBytes = kPoolFloats * sizeof(float);
// What a pool takes from the GPU at a time: 32 MiB of the card modelled.
constexpr cuuint64_t kSegment = (32 << 20) / 512;

CUdeviceptr take(const Gpu& gpu, std::size_t bytes, CUstream stream) {
  CUdeviceptr address = 0;
  NVS_MUST(gpu->cuMemAllocAsync(&address, bytes, stream));
  return address;
}

CUmemoryPool pool_of(const Gpu& gpu) {
  CUmemoryPool pool = nullptr;
  NVS_MUST(gpu->cuDeviceGetMemPool(&pool, gpu.device()));
  return pool;
}

cuuint64_t amount(const Gpu& gpu, CUmemPool_attribute attribute, CUmemoryPool pool = nullptr) {
  cuuint64_t value = ~cuuint64_t{0};
  NVS_MUST(gpu->cuMemPoolGetAttribute(pool != nullptr ? pool : pool_of(gpu), attribute, &value));
  return value;
}

cuuint64_t reserved(const Gpu& gpu) { return amount(gpu, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
cuuint64_t used(const Gpu& gpu) { return amount(gpu, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }

template <class T>
CUresult set(const Gpu& gpu, CUmemPool_attribute attribute, T value) {
  return gpu->cuMemPoolSetAttribute(pool_of(gpu), attribute, &value);
}

CUmemPoolProps props(int device) {
  CUmemPoolProps made{};
  made.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return made;
}

bool known(const Gpu& gpu, CUdeviceptr address) {
  CUdeviceptr begin = 0;
  return gpu->cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) ==
         CUDA_SUCCESS;
}

void in_pool_process(const SimProcess::Body& body, unsigned gpus = 1) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", std::to_string(gpus)}});
  run_process(machine, body);
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Pool, FreeTakesEffectWhenItsStreamGetsThere) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUdeviceptr kept = gpu.filled(kPoolFloats, 0);
    Gate gate;
    gate.close(gpu, stream);
    const CUdeviceptr data = take(gpu, kPoolBytes, stream);
    NVS_MUST(gpu.fill(data, 3, kPoolFloats, stream));
    NVS_MUST(gpu.launch("nvs_add", stream, kept, data, std::uint64_t{kPoolFloats}));
    NVS_MUST(gpu->cuMemFreeAsync(data, stream));
    EXPECT_TRUE(known(gpu, data)) << "nobody has got to the free";
    EXPECT_EQ(gpu->cuMemFreeAsync(data, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
    gate.open();
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    EXPECT_FALSE(known(gpu, data));
    EXPECT_EQ(gpu.read(kept, kPoolStripe), std::vector<float>(kPoolStripe, 3));
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
    EXPECT_EQ(gpu->cuMemFreeAsync(data, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemFreeAsync(0, stream), CUDA_SUCCESS);
  });
}

TEST(Pool, MemoryIsUsedAgainOnItsStreamAndIsFreshThen) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    Gate gate;
    gate.close(gpu, stream);
    CUdeviceptr before = 0;
    for (int round = 0; round < 8; ++round) {
      const CUdeviceptr data = take(gpu, kSegment, stream);
      EXPECT_NE(data, before) << "an old pointer must not lead to new memory";
      before = data;
      NVS_MUST(gpu.fill(data, 1, kPoolFloats, stream));
      NVS_MUST(gpu->cuMemFreeAsync(data, stream));
      EXPECT_EQ(reserved(gpu), kSegment);
      EXPECT_EQ(used(gpu), 0U);
    }
    // The first of these writes nothing: what it finds is not what an earlier one wrote.
    const CUdeviceptr fresh = take(gpu, kPoolBytes, stream);
    NVS_MUST(gpu.step(fresh, 1, kPoolFloats, stream));
    gate.open();
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 1U);
    EXPECT_NE(violation_text(loaded_driver()).find("fresh"), std::string::npos);
  });
}

// A free on the first stream, behind a gate, and an allocation of the same size on the second. How
// much the pool holds then; its memory is used, so that a wrong order is a wrong number.
cuuint64_t reserved_for_two(const Gpu& gpu, bool with_event) {
  const CUstream first = gpu.stream();
  const CUstream second = gpu.stream();
  const CUdeviceptr kept = gpu.filled(kPoolFloats, 0);
  const CUdeviceptr data = take(gpu, kSegment, first);
  Gate gate;
  gate.close(gpu, first);
  NVS_MUST(gpu.fill(data, 1, kPoolFloats, first));
  NVS_MUST(gpu.launch("nvs_add", first, kept, data, std::uint64_t{kPoolFloats}));
  NVS_MUST(gpu->cuMemFreeAsync(data, first));
  if (with_event) {
    const CUevent freed = gpu.event();
    NVS_MUST(gpu->cuEventRecord(freed, first));
    NVS_MUST(gpu->cuStreamWaitEvent(second, freed, 0));
  }
  const CUdeviceptr next = take(gpu, kSegment, second);
  const cuuint64_t held = reserved(gpu);
  NVS_MUST(gpu.fill(next, 7, kPoolFloats, second));
  gate.open();
  NVS_MUST(gpu->cuStreamSynchronize(second));
  EXPECT_EQ(gpu.read(next, kPoolFloats), std::vector<float>(kPoolFloats, 7));
  NVS_MUST(gpu->cuStreamSynchronize(first));
  EXPECT_EQ(gpu.read(kept, kPoolStripe), std::vector<float>(kPoolStripe, 1));
  NVS_MUST(gpu->cuMemFreeAsync(next, second));
  NVS_MUST(gpu->cuCtxSynchronize());
  EXPECT_EQ(reserved(gpu), 0U);
  EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  return held;
}

TEST(Pool, AnotherStreamGetsOnlyWhatItsOrderAllows) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    EXPECT_EQ(reserved_for_two(gpu, false), 2 * kSegment);
    EXPECT_EQ(reserved_for_two(gpu, true), kSegment);
    NVS_MUST(set<int>(gpu, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0));
    EXPECT_EQ(reserved_for_two(gpu, true), 2 * kSegment);
  });
}

TEST(Pool, FullGpuMakesAStreamWaitForTheFreeOfAnother) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    const CUstream first = gpu.stream();
    const CUstream second = gpu.stream();
    const CUdeviceptr kept = gpu.filled(kPoolFloats, 0);
    const CUdeviceptr data = take(gpu, kSegment, first);
    const CUdeviceptr rest = gpu.alloc(gpu.free_bytes() / gpu.granularity() * gpu.granularity());
    Gate gate;
    gate.close(gpu, first);
    NVS_MUST(gpu.fill(data, 1, kPoolFloats, first));
    NVS_MUST(gpu.launch("nvs_add", first, kept, data, std::uint64_t{kPoolFloats}));
    NVS_MUST(gpu->cuMemFreeAsync(data, first));
    NVS_MUST(set<int>(gpu, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0));
    CUdeviceptr next = 1;
    EXPECT_EQ(gpu->cuMemAllocAsync(&next, kSegment, second), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(next, 0U);
    NVS_MUST(set<int>(gpu, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1));
    NVS_MUST(gpu->cuMemAllocAsync(&next, kSegment, second));
    NVS_MUST(gpu.fill(next, 7, kPoolFloats, second));
    EXPECT_EQ(gpu->cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    gate.open();
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(kept, kPoolStripe), std::vector<float>(kPoolStripe, 1));
    EXPECT_EQ(gpu.read(next, kPoolFloats), std::vector<float>(kPoolFloats, 7));
    NVS_MUST(gpu->cuMemFree_v2(rest));
    NVS_MUST(gpu->cuMemFree_v2(next));
  });
}

TEST(Pool, KeepsUpToItsThresholdAndCountsWhatItHas) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    const std::size_t before = gpu.free_bytes();
    NVS_MUST(set<cuuint64_t>(gpu, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, kSegment));
    const CUdeviceptr large = take(gpu, 2 * kSegment, stream);
    const CUdeviceptr small = take(gpu, 100, stream);
    const CUdeviceptr other = take(gpu, 1000, stream);
    EXPECT_EQ(reserved(gpu), 3 * kSegment);
    EXPECT_EQ(used(gpu), 2 * kSegment + 512 + 1024);
    EXPECT_EQ(before - gpu.free_bytes(), 3 * kSegment);
    for (const CUdeviceptr data : {large, small, other}) {
      NVS_MUST(gpu->cuMemFreeAsync(data, stream));
    }
    EXPECT_EQ(reserved(gpu), 3 * kSegment);
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    EXPECT_EQ(reserved(gpu), kSegment);
    EXPECT_EQ(before - gpu.free_bytes(), kSegment);
    EXPECT_EQ(used(gpu), 0U);
    EXPECT_EQ(amount(gpu, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 3 * kSegment);
    EXPECT_EQ(amount(gpu, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 2 * kSegment + 512 + 1024);
    EXPECT_EQ(set<cuuint64_t>(gpu, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 1), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(set<cuuint64_t>(gpu, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0));
    NVS_MUST(set<cuuint64_t>(gpu, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0));
    EXPECT_EQ(amount(gpu, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0U);
    EXPECT_EQ(amount(gpu, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), kSegment);
    NVS_MUST(gpu->cuMemPoolTrimTo(pool_of(gpu), 1));
    EXPECT_EQ(reserved(gpu), kSegment) << "less than a segment is no segment";
    NVS_MUST(gpu->cuMemPoolTrimTo(pool_of(gpu), 0));
    EXPECT_EQ(gpu.free_bytes(), before);
  });
}

TEST(Pool, TakesFromTheLedgerThatAllProcessesShare) {
  SimMachine machine;
  SimProcess holder(machine, [](Line& line) {
    const Gpu gpu;
    take(gpu, 20 << 20, nullptr);
    NVS_MUST(gpu->cuCtxSynchronize());
    line.tell("holds");
    line.expect("go");
  });
  holder.line().expect("holds");
  SimProcess other(machine, [](Line& line) {
    const Gpu gpu;
    CUdeviceptr data = 1;
    EXPECT_EQ(gpu->cuMemAllocAsync(&data, 15 << 20, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    line.tell("full");
    line.expect("room");
    NVS_MUST(gpu->cuMemAllocAsync(&data, 15 << 20, nullptr));
    NVS_MUST(gpu.fill(data, 2, kPoolFloats));
    EXPECT_EQ(gpu.read(data, kPoolFloats), std::vector<float>(kPoolFloats, 2));
  });
  other.line().expect("full");
  holder.kill();
  other.line().tell("room");
  EXPECT_EQ(other.wait(), 0) << other.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Pool, OwnPoolIsUsedOutlivesItsHandleAndKeepsItsLimit) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    const CUmemoryPool standard = pool_of(gpu);
    CUmemPoolProps wanted = props(0);
    wanted.maxSize = 2 * kSegment;
    CUmemoryPool pool = nullptr;
    NVS_MUST(gpu->cuMemPoolCreate(&pool, &wanted));
    CUdeviceptr data = 0;
    EXPECT_EQ(gpu->cuMemAllocFromPoolAsync(&data, 3 * kSegment, pool, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    NVS_MUST(gpu->cuMemAllocFromPoolAsync(&data, kPoolBytes, pool, nullptr));
    CUmemoryPool owner = nullptr;
    NVS_MUST(gpu->cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, data + 8));
    EXPECT_EQ(owner, pool);
    NVS_MUST(gpu->cuDeviceSetMemPool(0, pool));
    EXPECT_EQ(pool_of(gpu), pool);
    const CUdeviceptr more = take(gpu, kPoolBytes, nullptr);
    EXPECT_EQ(used(gpu), 2 * kPoolBytes);
    NVS_MUST(gpu->cuMemPoolDestroy(pool));
    EXPECT_EQ(pool_of(gpu), standard);
    EXPECT_EQ(gpu->cuMemAllocFromPoolAsync(&data, 1, pool, nullptr), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu.fill(data, 4, kPoolFloats));
    EXPECT_EQ(gpu.read(data, kPoolFloats), std::vector<float>(kPoolFloats, 4));
    EXPECT_EQ(before - gpu.free_bytes(), kSegment);
    NVS_MUST(gpu->cuMemFreeAsync(data, nullptr));
    NVS_MUST(gpu->cuMemFree_v2(more));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.free_bytes(), before);
  });
}

TEST(Pool, AccessOfAnotherGpuIsThePools) {
  in_pool_process(
      [](Line&) {
        const Gpu far(1);
        const Gpu gpu(0);
        CUdeviceptr data = take(gpu, kPoolBytes, nullptr);
        NVS_MUST(gpu.fill(data, 1, kPoolFloats));
        NVS_MUST(gpu->cuCtxSynchronize());
        CUmemLocation place{CU_MEM_LOCATION_TYPE_DEVICE, 1};
        CUmemAccess_flags flags{};
        NVS_MUST(gpu->cuMemPoolGetAccess(&flags, pool_of(gpu), &place));
        EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        const CUmemAccessDesc both{place, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        NVS_MUST(gpu->cuMemPoolSetAccess(pool_of(gpu), &both, 1));
        NVS_MUST(gpu->cuMemPoolGetAccess(&flags, pool_of(gpu), &place));
        EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        const CUmemAccessDesc own{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
        EXPECT_EQ(gpu->cuMemPoolSetAccess(pool_of(gpu), &own, 1), CUDA_ERROR_INVALID_VALUE);
        far.make_current();
        NVS_MUST(far.step(data, 1, kPoolFloats));
        EXPECT_EQ(far->cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(far.read(data, 1).front(), 2);
        const CUmemAccessDesc none{place, CU_MEM_ACCESS_FLAGS_PROT_NONE};
        NVS_MUST(far->cuMemPoolSetAccess(pool_of(gpu), &none, 1));
        NVS_MUST(far.step(data, 1, kPoolFloats));
        EXPECT_EQ(far->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
      },
      2);
}

TEST(Pool, UseAfterTheFreeIsFound) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = take(gpu, kPoolBytes, nullptr);
    NVS_MUST(gpu.fill(data, 1, kPoolFloats));
    NVS_MUST(gpu->cuMemFreeAsync(data, nullptr));
    take(gpu, kPoolBytes, nullptr);
    NVS_MUST(gpu.fill(data, 1, kPoolFloats));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(violation_text(loaded_driver()).find("not mapped"), std::string::npos);
  });
}

TEST(Pool, FreeUnderWorkOfAnotherStreamIsAViolation) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = take(gpu, kPoolBytes, nullptr);
    const CUdeviceptr plain = gpu.alloc(kPoolBytes);
    NVS_MUST(gpu->cuCtxSynchronize());
    gpu.launch_hanging([&] { return gpu.fill(data, 1, kPoolFloats, stream); });
    const CUstream third = gpu.stream();
    NVS_MUST(gpu->cuMemFreeAsync(plain, third));
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U) << "nobody uses that one";
    EXPECT_FALSE(known(gpu, plain));
    NVS_MUST(gpu->cuMemFreeAsync(data, third));
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 1U);
    EXPECT_NE(violation_text(loaded_driver()).find("cuMemFreeAsync"), std::string::npos);
    gpu.sim().cusimReleaseHang();
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST(Pool, WhatIsNotSimulatedSaysSo) {
  in_pool_process([](Line&) {
    const Gpu gpu;
    CUmemoryPool pool = nullptr;
    CUmemPoolProps wanted = props(0);
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EXPECT_EQ(gpu->cuMemPoolCreate(&pool, &wanted), CUDA_ERROR_NOT_SUPPORTED);
    wanted = props(1);
    EXPECT_EQ(gpu->cuMemPoolCreate(&pool, &wanted), CUDA_ERROR_INVALID_DEVICE);
    wanted = props(0);
    wanted.location.type = CU_MEM_LOCATION_TYPE_HOST;
    EXPECT_EQ(gpu->cuMemPoolCreate(&pool, &wanted), CUDA_ERROR_NOT_SUPPORTED);
    // A node frees only what a node has allocated.
    const CUdeviceptr data = take(gpu, kPoolBytes, nullptr);
    NVS_MUST(gpu->cuCtxSynchronize());
    const CUstream stream = gpu.stream();
    NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(gpu->cuMemFreeAsync(data, stream), CUDA_ERROR_INVALID_VALUE);
    CUgraph graph = nullptr;
    NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
    NVS_MUST(gpu->cuMemFreeAsync(data, stream));
  });
}

}  // namespace
}  // namespace nvs::sim_test
