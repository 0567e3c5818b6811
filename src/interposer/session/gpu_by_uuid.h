// SPDX-License-Identifier: Apache-2.0
// Which GPU of this process another interface means.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

// The bytes of a name like "GPU-00112233-4455-6677-8899-aabbccddeeff"; false if it is none.
bool read_uuid(const char* text, std::uint8_t (&uuid)[16]);

// The ordinal of the one that is called so, among those that the program uses; -1: none of them.
int gpu_by_uuid(const char* text);

}  // namespace nvs::interposer::session
