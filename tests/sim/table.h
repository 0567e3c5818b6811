// SPDX-License-Identifier: Apache-2.0
// A run in figures, for people: what each kind of tenant got of each GPU, how long it waited, and
// what was lost.
#pragma once

#include <string>

#include "world.h"

namespace nvs::sim {

std::string table_of(const World& world);

}  // namespace nvs::sim
