// SPDX-License-Identifier: Apache-2.0
// Which pools of programs are ours: those of device memory that cannot be passed to other
// processes. All others, and all that a pool is beside its memory, are the driver's.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"

namespace nvs::interposer::swap {

// Told by the hooks.
void pool_created(std::uint64_t pool, const CUmemPoolProps& props);
void pool_ends(std::uint64_t pool);  // before the driver's call
void pool_made_current(std::uint64_t pool, int device);
void pool_threshold_set(std::uint64_t pool, std::uint64_t bytes);

// Its default pool is one of ours. False: allocations on the device are not for us.
bool know_pools_of(int device);
std::uint64_t current_pool(int device);
bool is_default_pool(std::uint64_t pool);
// Of one of ours.
bool find_pool_device(std::uint64_t pool, int& device);
// Of anybody's: where its memory is, memory::kHostDevice or memory::kUnknownDevice.
int device_of_pool(std::uint64_t pool);
// The program has set one for it, and it may be full by that.
bool has_maximum(std::uint64_t pool);

struct PoolUsage {
  std::uint64_t reserved = 0;
  std::uint64_t reserved_high = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
};
// What it has of us; nothing if it is not ours.
PoolUsage pool_usage(std::uint64_t pool);
enum class High : std::uint8_t { reserved, used };
void forget_high(std::uint64_t pool, High which);

void forget_pools_in_child();

}  // namespace nvs::interposer::swap
