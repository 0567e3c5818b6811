// SPDX-License-Identifier: Apache-2.0
// What a process sees of a GPU that has no session, because it only looks (nvidia-smi): as much as
// programs of its tenant, and what those have. It joins for a moment, asks, and leaves. What was
// seen is kept for a second, and where there is no daemon nothing is asked.
#pragma once

#include "interposer/memory/account.h"

namespace nvs::interposer::session {

// `card` is what the GPU, which NVML calls so, really has. False: that is what is to be seen, since
// nobody shares it out.
bool look_at_gpu(const char* uuid, std::uint64_t card, account::Limit& seen);

// Whether there may be a daemon to ask.
bool may_look();

void forget_looks_in_child();

}  // namespace nvs::interposer::session
