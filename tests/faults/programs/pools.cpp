// SPDX-License-Identifier: Apache-2.0
// Tenants that allocate and free in the order of streams, step by step as the test says.
#include <vector>

#include "tests/cuda_sim/gate.h"
#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

using sim_test::Gate;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kBytes = 66 * kMiB + 5;
constexpr std::size_t kSmall = 1000;

void must_be(bool is_so, const char* what) {
  if (!is_so) throw std::runtime_error(what);
}

CUdeviceptr take(const Gpu& gpu, std::size_t bytes, CUstream stream) {
  CUdeviceptr address = 0;
  NVS_MUST(gpu->cuMemAllocAsync(&address, bytes, stream));
  return address;
}

void give(const Gpu& gpu, CUdeviceptr address, CUstream stream) {
  NVS_MUST(gpu->cuMemFreeAsync(address, stream));
}

void fill(const Gpu& gpu, CUdeviceptr address, unsigned char value, std::size_t bytes,
          CUstream stream) {
  NVS_MUST(gpu->cuMemsetD8Async(address, value, bytes, stream));
}

void must_hold(const Gpu& gpu, CUdeviceptr address, unsigned char value, std::size_t bytes) {
  std::vector<unsigned char> host(bytes);
  NVS_MUST(gpu->cuMemcpyDtoH_v2(host.data(), address, bytes));
  for (const unsigned char byte : host) must_be(byte == value, "another byte");
}

CUmemoryPool pool_of(const Gpu& gpu) {
  CUmemoryPool pool = nullptr;
  NVS_MUST(gpu->cuDeviceGetMemPool(&pool, gpu.device()));
  return pool;
}

cuuint64_t amount(const Gpu& gpu, CUmemPool_attribute attribute) {
  cuuint64_t value = 77;
  NVS_MUST(gpu->cuMemPoolGetAttribute(pool_of(gpu), attribute, &value));
  return value;
}
cuuint64_t reserved(const Gpu& gpu) { return amount(gpu, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
cuuint64_t used(const Gpu& gpu) { return amount(gpu, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }

void keep_all(const Gpu& gpu) {
  cuuint64_t all = ~cuuint64_t{0};
  NVS_MUST(gpu->cuMemPoolSetAttribute(pool_of(gpu), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
}

bool is_known(const Gpu& gpu, CUdeviceptr address) {
  CUdeviceptr base = 0;
  return gpu->cuMemGetAddressRange_v2(&base, nullptr, address) == CUDA_SUCCESS;
}

// Reused in its own stream at once, whether or not that has got to the free; elsewhere after it.
void reuse(const Gpu& gpu) {
  CUstream const one = gpu.stream();
  CUstream const two = gpu.stream();
  const CUdeviceptr first = take(gpu, kBytes, one);
  Gate gate;
  gate.close(gpu, one);
  fill(gpu, first, 7, kBytes, one);
  give(gpu, first, one);
  must_be(used(gpu) == 0 && reserved(gpu) >= kBytes, "amounts after the free");
  must_be(!is_known(gpu, first), "known after its free");
  must_be(gpu->cuMemFreeAsync(first, one) == CUDA_ERROR_INVALID_VALUE, "freed twice");
  must_be(gpu->cuMemFree_v2(first) == CUDA_ERROR_INVALID_VALUE, "freed twice, by cuMemFree");
  const CUdeviceptr elsewhere = take(gpu, kBytes, two);
  must_be(elsewhere != first, "another stream has what the first may still use");
  must_be(take(gpu, kBytes - 5, one) == first, "not reused in its own stream");
  give(gpu, first, one);
  give(gpu, elsewhere, two);
  gate.open();
  NVS_MUST(gpu->cuEventSynchronize([&] {
    CUevent event = gpu.event();
    NVS_MUST(gpu->cuEventRecord(event, one));
    return event;
  }()));
  must_be(reserved(gpu) <= kBytes + 2 * kMiB, "nothing was given back");
}

// What is read before the free is what was there, though the next owner writes at once.
void in_order(const Gpu& gpu) {
  CUstream const stream = gpu.stream();
  const CUdeviceptr kept = gpu.alloc(kBytes);
  const CUdeviceptr first = take(gpu, kBytes, stream);
  fill(gpu, first, 1, kBytes, stream);
  NVS_MUST(gpu.spin(2'000'000, stream));
  NVS_MUST(gpu->cuMemcpyDtoDAsync_v2(kept, first, kBytes, stream));
  give(gpu, first, stream);
  const CUdeviceptr second = take(gpu, kBytes, stream);
  must_be(second == first, "not reused");
  fill(gpu, second, 2, kBytes, stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  must_hold(gpu, kept, 1, kBytes);
  must_hold(gpu, second, 2, kBytes);
  give(gpu, second, stream);
  NVS_MUST(gpu->cuMemFreeAsync(kept, stream));  // it was allocated otherwise
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  must_be(!is_known(gpu, kept), "still there");
}

// A stream that goes with a free in it loses nothing, and its handle may come back.
void endings(const Gpu& gpu) {
  CUstream const stream = gpu.stream();
  const CUdeviceptr first = take(gpu, kBytes, stream);
  fill(gpu, first, 3, kBytes, stream);
  give(gpu, first, stream);
  NVS_MUST(gpu->cuStreamDestroy_v2(stream));
  NVS_MUST(gpu->cuCtxSynchronize());
  must_be(reserved(gpu) == 0, "the pool has something left");
  NVS_MUST(gpu->cuMemFree_v2(take(gpu, kBytes, CU_STREAM_LEGACY)));
  NVS_MUST(gpu->cuMemFree_v2(take(gpu, kSmall, CU_STREAM_PER_THREAD)));
  must_be(reserved(gpu) == 0, "cuMemFree waits, and gives back");
}

void own_pool(const Gpu& gpu) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device()};
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  CUmemoryPool found = nullptr;
  NVS_MUST(gpu->cuMemPoolCreate(&pool, &props));
  NVS_MUST(gpu->cuMemAllocFromPoolAsync(&address, kBytes, pool, nullptr));
  NVS_MUST(gpu->cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
  must_be(found == pool, "another pool");
  NVS_MUST(gpu->cuMemPoolDestroy(pool));
  fill(gpu, address, 4, kBytes, nullptr);
  must_hold(gpu, address, 4, kBytes);
  give(gpu, address, nullptr);
  NVS_MUST(gpu->cuCtxSynchronize());
  must_be(!is_known(gpu, address), "still there");
}

// A pool gives up what it keeps before it says that it is full.
void limited_pool(const Gpu& gpu) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device()};
  props.maxSize = kBytes;
  CUmemoryPool pool = nullptr;
  CUdeviceptr first = 0;
  CUdeviceptr second = 77;
  CUstream const stream = gpu.stream();
  NVS_MUST(gpu->cuMemPoolCreate(&pool, &props));
  NVS_MUST(gpu->cuMemAllocFromPoolAsync(&first, kBytes, pool, stream));
  must_be(gpu->cuMemAllocFromPoolAsync(&second, kSmall, pool, stream) == CUDA_ERROR_OUT_OF_MEMORY,
          "more than its limit");
  NVS_MUST(gpu.spin(2'000'000, stream));
  give(gpu, first, stream);
  NVS_MUST(gpu->cuMemAllocFromPoolAsync(&second, kBytes / 2, pool, stream));
  give(gpu, second, stream);
  NVS_MUST(gpu->cuMemPoolDestroy(pool));
}

}  // namespace

// pools: memory that moves, then all the ways to free it.
int pools(int, char**) {
  const Gpu gpu;
  CUstream const stream = gpu.stream();
  const CUdeviceptr large = take(gpu, kBytes, stream);
  const CUdeviceptr small = take(gpu, kSmall, stream);
  fill(gpu, large, 0x31, kBytes, stream);
  fill(gpu, small, 0x32, kSmall, stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  say("ready");
  wait_for_word();
  must_hold(gpu, large, 0x31, kBytes);
  must_hold(gpu, small, 0x32, kSmall);
  give(gpu, large, stream);
  give(gpu, small, stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  reuse(gpu);
  NVS_MUST(gpu->cuCtxSynchronize());
  in_order(gpu);
  endings(gpu);
  own_pool(gpu);
  limited_pool(gpu);
  NVS_MUST(gpu->cuCtxSynchronize());
  NVS_MUST(gpu->cuMemPoolTrimTo(pool_of(gpu), 0));
  must_be(reserved(gpu) == 0 && used(gpu) == 0, "amounts at the end");
  say("done");
  wait_for_word();
  return 0;
}

// kept: a pool that keeps what it has; and then something larger is wanted.
int kept(int, char**) {
  const Gpu gpu;
  CUstream const stream = gpu.stream();
  keep_all(gpu);
  const CUdeviceptr first = take(gpu, kBytes, stream);
  fill(gpu, first, 0x31, kBytes, stream);
  give(gpu, first, stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  must_be(reserved(gpu) >= kBytes, "nothing was kept");
  say("ready");
  wait_for_word();
  must_be(reserved(gpu) == 0, "what nobody uses stays where memory is short");
  const CUdeviceptr again = take(gpu, 2 * kBytes, stream);
  fill(gpu, again, 0x31, 2 * kBytes, stream);
  NVS_MUST(gpu.spin(2'000'000, stream));
  give(gpu, again, stream);
  // It does not fit beside the one that the stream has yet to get past.
  const CUdeviceptr larger = take(gpu, 3 * kBytes, stream);
  fill(gpu, larger, 0x33, 3 * kBytes, stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  must_hold(gpu, larger, 0x33, 3 * kBytes);
  // Its context takes all along.
  give(gpu, larger, stream);
  NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
  return 0;
}

}  // namespace nvs::faults
