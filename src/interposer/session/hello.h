// SPDX-License-Identifier: Apache-2.0
// What a client says of itself when it connects: labels for people, its priority, the
// limits it was given, and which `nvshare run` it belongs to.
#pragma once

#include "interposer/resolve/settings.h"
#include "wire/messages.h"

namespace nvs::interposer::session {

// Values that cannot be understood are left out: a program never fails for them.
wire::Hello make_hello(const Settings& settings);

// The name that a command line stands for: of a script rather than of its interpreter. `arguments`
// are separated by zeros.
void label_of(const char* arguments, std::size_t size, char* label, std::size_t capacity);

}  // namespace nvs::interposer::session
