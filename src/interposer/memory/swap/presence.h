// SPDX-License-Identifier: Apache-2.0
// For calls that pass a closed gate, because they are captured and submit nothing: the driver still
// looks at the memory that they name, so that must be there.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// Until all memory of the process is on these GPUs, one bit each; the daemon is told that somebody
// wants it. While a capture goes on nothing leaves, so it is there when the call is made.
void wait_until_there(std::uint32_t gpus);

}  // namespace nvs::interposer::swap
