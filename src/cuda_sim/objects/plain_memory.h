// SPDX-License-Identifier: Apache-2.0
// Plain allocations: addresses and memory in one, owned by a context. Small ones share a block of
// the GPU's granularity, as in the driver, so that free memory shrinks in the same steps.
#pragma once

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

/// The address, or 0 when the GPU has no room. With the driver's lock held, as all of these.
std::uint64_t allocate_plain(Driver& driver, Context& context, std::uint64_t bytes);

/// Frees the allocation that begins at `mapping`. The caller has made sure that nothing uses it.
void free_plain(Driver& driver, std::uint64_t begin);

/// Lets kernels on `gpu` use the plain memory of `owner`, present and future, or not any more.
void set_peer_access(Driver& driver, const Context& owner, unsigned gpu, Access access);

}  // namespace nvs::sim
