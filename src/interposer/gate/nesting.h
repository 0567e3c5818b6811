// SPDX-License-Identifier: Apache-2.0
// A thread that is marked inside makes another call. Either the first call goes on and this one is
// nested in it (the driver calls itself, or a callback or a signal handler does), or the first one
// was left by a longjmp and its mark means nothing.
#pragma once

#include <cstdint>

namespace nvs::interposer::gate {

// Both are stack pointers of hooks: that of the marked call and that of the new one.
bool is_nested(std::uintptr_t marked, std::uintptr_t now);

}  // namespace nvs::interposer::gate
