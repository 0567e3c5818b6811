// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/ordered_pools.h"

#include "interposer/exports/real.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/slot_table.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::HeapPool;

// 0: to be asked.
constinit std::atomic<std::uint64_t> current[gate::kGpusMax] = {};
constinit std::atomic<std::uint64_t> defaults[gate::kGpusMax] = {};  // those that are ours

// Default pools of all devices, ours or not: a program may allocate from one without a context
// there. They never change, so they are asked for once, when a pool is met that nobody made.
constinit std::atomic<std::uint64_t> all_defaults[gate::kGpusMax] = {};
constinit std::atomic<bool> has_asked_for_defaults{false};

// Pools that programs made and that are not ours: where their memory is.
struct DriversPool {
  std::uint64_t handle = 0;
  int device = memory::kUnknownDevice;
  bool has_maximum = false;

  bool used() const { return handle != 0; }
  std::uint64_t hash() const { return memory::spread(handle); }
  bool same_key(const DriversPool& other) const { return handle == other.handle; }
};
constinit memory::SlotTable<DriversPool> drivers_pools;  // with the lock

bool is_gpu(int device) { return device >= 0 && device < gate::kGpusMax; }

std::uint64_t threshold_of(std::uint64_t pool) {
  cuuint64_t bytes = 0;
  real<Row::cuMemPoolGetAttribute>()(reinterpret_cast<CUmemoryPool>(pool),
                                     CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);
  return bytes;
}

void write_down(std::uint64_t handle, int device, std::uint64_t threshold, std::uint64_t maximum) {
  const os::FutexGuard guard(lock);
  if (stream_heap.find_pool(handle) != nullptr) return;
  HeapPool* pool = stream_heap.add_pool(handle, device, threshold);
  if (pool != nullptr) pool->maximum = maximum;
}

bool is_ours(const CUmemPoolProps& props) {
  return props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
         props.handleTypes == CU_MEM_HANDLE_TYPE_NONE && props.usage == 0 &&
         props.location.type == CU_MEM_LOCATION_TYPE_DEVICE && is_gpu(props.location.id);
}

void ask_for_defaults() {
  const auto count = real<Row::cuDeviceGetCount>();
  const auto ask = real<Row::cuDeviceGetDefaultMemPool>();
  int devices = 0;
  if (count == nullptr || ask == nullptr || count(&devices) != CUDA_SUCCESS) return;
  for (int device = 0; device < devices && is_gpu(device); ++device) {
    CUmemoryPool pool = nullptr;
    if (ask(&pool, device) != CUDA_SUCCESS) continue;
    all_defaults[device].store(memory::number_of(pool), std::memory_order_relaxed);
  }
  has_asked_for_defaults.store(true, std::memory_order_release);
}

int device_of_default(std::uint64_t pool) {
  if (!has_asked_for_defaults.load(std::memory_order_acquire)) ask_for_defaults();
  for (int device = 0; device < gate::kGpusMax; ++device) {
    if (all_defaults[device].load(std::memory_order_relaxed) == pool) return device;
  }
  return memory::kUnknownDevice;
}

// Of those that programs made, or that are ours.
int device_of_known(std::uint64_t pool) {
  const os::FutexGuard guard(lock);
  if (const HeapPool* ours = stream_heap.find_pool(pool)) return ours->device;
  const DriversPool* drivers = drivers_pools.find({pool});
  return drivers != nullptr ? drivers->device : memory::kUnknownDevice;
}

void write_down_drivers(const DriversPool& pool) {
  const os::FutexGuard guard(lock);
  if (DriversPool* known = drivers_pools.find(pool)) drivers_pools.erase(known);
  drivers_pools.insert(pool, &os::map_pages);
}

}  // namespace

void pool_created(std::uint64_t pool, const CUmemPoolProps& props) {
  if (is_ours(props)) {
    write_down(pool, props.location.id, 0, props.maxSize);
  } else {
    write_down_drivers({pool, memory::device_at(props.location), props.maxSize != 0});
  }
}

void pool_ends(std::uint64_t pool) {
  const Looking looking;
  const os::FutexGuard guard(lock);
  if (DriversPool* drivers = drivers_pools.find({pool})) drivers_pools.erase(drivers);
  for (auto& one : current) {
    std::uint64_t seen = pool;
    one.compare_exchange_strong(seen, 0);
  }
  HeapPool* known = stream_heap.find_pool(pool);
  if (known == nullptr) return;
  stream_heap.remove_pool(known);
  note_surplus();
}

void pool_made_current(std::uint64_t pool, int device) {
  if (is_gpu(device)) current[device].store(pool, std::memory_order_relaxed);
}

void pool_threshold_set(std::uint64_t pool, std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  HeapPool* known = stream_heap.find_pool(pool);
  if (known == nullptr) return;
  stream_heap.set_threshold(known, bytes);
  note_surplus();
}

bool know_pools_of(int device) {
  if (!is_gpu(device)) return false;
  if (defaults[device].load(std::memory_order_relaxed) != 0) return true;
  CUmemoryPool pool = nullptr;
  const auto ask = real<Row::cuDeviceGetDefaultMemPool>();
  if (!session::has_daemon(device) || ask == nullptr) return false;
  if (ask(&pool, device) != CUDA_SUCCESS || pool == nullptr) return false;
  const std::uint64_t number = memory::number_of(pool);
  write_down(number, device, threshold_of(number), 0);
  defaults[device].store(number, std::memory_order_relaxed);
  return true;
}

std::uint64_t current_pool(int device) {
  if (!is_gpu(device)) return 0;
  const std::uint64_t known = current[device].load(std::memory_order_relaxed);
  CUmemoryPool pool = nullptr;
  if (known != 0) return known;
  const auto ask = real<Row::cuDeviceGetMemPool>();
  if (ask == nullptr || ask(&pool, device) != CUDA_SUCCESS) return 0;
  pool_made_current(memory::number_of(pool), device);
  return memory::number_of(pool);
}

bool is_default_pool(std::uint64_t pool) {
  for (const auto& one : defaults) {
    if (one.load(std::memory_order_relaxed) == pool) return true;
  }
  return false;
}

bool find_pool_device(std::uint64_t pool, int& device) {
  const os::FutexGuard guard(lock);
  const HeapPool* known = stream_heap.find_pool(pool);
  if (known != nullptr) device = known->device;
  return known != nullptr;
}

int device_of_pool(std::uint64_t pool) {
  if (pool == 0) return memory::kUnknownDevice;
  const int device = device_of_known(pool);
  return device != memory::kUnknownDevice ? device : device_of_default(pool);
}

bool has_maximum(std::uint64_t pool) {
  if (pool == 0) return false;
  const os::FutexGuard guard(lock);
  if (const HeapPool* ours = stream_heap.find_pool(pool)) return ours->maximum != 0;
  const DriversPool* drivers = drivers_pools.find({pool});
  return drivers != nullptr && drivers->has_maximum;
}

PoolUsage pool_usage(std::uint64_t pool) {
  const os::FutexGuard guard(lock);
  const HeapPool* known = stream_heap.find_pool(pool);
  if (known == nullptr) return {};
  return {known->reserved, known->reserved_high, known->used, known->used_high};
}

void forget_high(std::uint64_t pool, High which) {
  const os::FutexGuard guard(lock);
  HeapPool* known = stream_heap.find_pool(pool);
  if (known == nullptr) return;
  if (which == High::used) {
    known->used_high = known->used;
  } else {
    known->reserved_high = known->reserved;
  }
}

void forget_pools_in_child() {
  for (auto& one : current) one.store(0, std::memory_order_relaxed);
  for (auto& one : defaults) one.store(0, std::memory_order_relaxed);
  for (auto& one : all_defaults) one.store(0, std::memory_order_relaxed);
  has_asked_for_defaults.store(false, std::memory_order_relaxed);
  drivers_pools.forget();
}

}  // namespace nvs::interposer::swap
