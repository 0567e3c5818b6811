// SPDX-License-Identifier: Apache-2.0
// What a process sees of its tenant's limit that has no session, because it only looks
// (nvidia-smi): it joins for a moment, asks, and leaves. What was seen is kept for a second, and
// where there is no daemon nothing is asked.
#pragma once

#include "interposer/memory/account.h"

namespace nvs::interposer::session {

struct Sight {
  std::uint64_t total = 0;  // what the tenant's programs see of the GPU; 0: what is there
  account::Limit limit = {};
};

// False: there is no limit on this GPU, which NVML calls so, or nobody who knows of one.
bool look_at_limit(const char* uuid, Sight& sight);

// Whether there may be a daemon to ask.
bool may_look();

void forget_looks_in_child();

}  // namespace nvs::interposer::session
