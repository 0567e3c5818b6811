// SPDX-License-Identifier: Apache-2.0
// The driver's calls for memory whose addresses and pages are apart, and nothing else calls them
// for regions. No lock of ours is needed for any of them, and none should be held.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::swap {

// Whether the driver and the device can do it. `granularity`: what sizes are multiples of.
bool is_supported(int device, std::uint64_t& granularity);

// 0 if there are none to be had.
std::uint64_t reserve_addresses(std::uint64_t bytes);
void give_addresses(std::uint64_t base, std::uint64_t bytes);

// Pages of a device at these addresses, for every device that may use its memory, and in the views
// that a program has of them (views.h). On failure nothing is left of it.
CUresult back(int device, std::uint64_t address, std::uint64_t bytes, std::uint64_t& handle);
void unback(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);

}  // namespace nvs::interposer::swap
