// SPDX-License-Identifier: Apache-2.0
// What the entry points of memory have in common.
#pragma once

#include "cuda_sim/api/call.h"

namespace nvs::sim {

/// Waits until no work of the context can use its memory any more.
CUresult wait_for_users(std::unique_lock<std::mutex>& guard, Context& context);

/// For calls that also work without a current context: refuses only when there is one and it is
/// not usable.
CUresult refuse_unusable_context(Driver& d);

/// The context with that key, or null.
std::shared_ptr<Context> context_of(Driver& d, std::uint64_t key);

}  // namespace nvs::sim
