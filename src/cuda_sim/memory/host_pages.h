// SPDX-License-Identifier: Apache-2.0
// Programs pass host addresses that may be null, unmapped or read-only. The simulator touches host
// memory in its own threads, so it asks the kernel first instead of crashing the program.
#pragma once

#include <cstdint>

namespace nvs::sim {

enum class HostUse { read, write };

/// Whether this process may use all of [begin, begin + bytes) so. The pages are faulted in on the
/// way, as the driver does when it pins them.
bool host_memory_allows(std::uint64_t begin, std::uint64_t bytes, HostUse use);

}  // namespace nvs::sim
