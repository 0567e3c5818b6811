// SPDX-License-Identifier: Apache-2.0
// A run in figures, for people: what each kind of tenant got of each GPU, how long it waited, and
// what was lost.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "world.h"

namespace nvs::sim {

// The smallest of these times, shortest first, that `percent` of them do not exceed; zero if there
// are none.
Duration percentile(const std::vector<Duration>& sorted, std::size_t percent);

std::string table_of(const World& world);

}  // namespace nvs::sim
