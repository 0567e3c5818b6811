// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/unified/use.h"

#include <atomic>

#include "interposer/gate/gate.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::unified {
namespace {

enum Capability : std::uint8_t { kNotAsked, kNo, kYes };

constinit std::atomic<bool> exceeds{false};
constinit std::atomic<std::uint8_t> capabilities[gate::kGpusMax] = {};
constinit std::atomic<bool> used[gate::kGpusMax] = {};
constinit std::atomic<std::uint64_t> cards[gate::kGpusMax] = {};

bool has_attribute(int gpu, CUdevice_attribute attribute) {
  int value = 0;
  const auto ask = real<Row::cuDeviceGetAttribute>();
  return ask != nullptr && ask(&value, attribute, gpu) == CUDA_SUCCESS && value != 0;
}

// Without concurrent access the driver has all managed memory on the GPU at every launch, so that
// it cannot be more than fits.
bool is_capable(int gpu) {
  std::uint8_t known = capabilities[gpu].load(std::memory_order_relaxed);
  if (known == kNotAsked) {
    const bool is_so = real<Row::cuMemAllocManaged>() != nullptr &&
                       has_attribute(gpu, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) &&
                       has_attribute(gpu, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    known = is_so ? kYes : kNo;
    capabilities[gpu].store(known, std::memory_order_relaxed);
  }
  return known == kYes;
}

}  // namespace

void configure(bool may) { exceeds.store(may, std::memory_order_relaxed); }

bool may_exceed() { return exceeds.load(std::memory_order_relaxed); }

bool is_for_us(int& gpu) {
  if (!may_exceed() && !session::has_any_daemon()) return false;
  gpu = memory::current_device();
  if (gpu < 0 || gpu >= gate::kGpusMax) return false;
  if (!may_exceed() && (!session::has_daemon(gpu) || swap::is_movable(gpu))) return false;
  return is_capable(gpu);
}

bool is_used(int gpu) { return used[gpu].load(std::memory_order_relaxed); }

void set_used(int gpu) { used[gpu].store(true, std::memory_order_relaxed); }

std::uint64_t card_bytes(int gpu) {
  std::uint64_t known = cards[gpu].load(std::memory_order_relaxed);
  if (known == 0) {
    std::size_t bytes = 0;
    const auto ask = real<Row::cuDeviceTotalMem_v2>();
    if (ask != nullptr && ask(&bytes, gpu) == CUDA_SUCCESS) known = bytes;
    cards[gpu].store(known, std::memory_order_relaxed);
  }
  return known;
}

void forget_use_in_child() {
  for (auto& one : used) one.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::unified
