// SPDX-License-Identifier: Apache-2.0
// Memory that a graph allocates and does not free itself: it outlives the graph.
#pragma once

#include <cstdint>

#include "interposer/memory/records.h"

namespace nvs::interposer::memory::graphs {

struct Left {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t context = 0;
  int device = kUnknownDevice;
};

// What has been launched and not freed since is there, with or without its graph.
bool is_there(const Left& left);

// From then on it counts by its address. There is no moment in which it counts twice or not at all:
// it takes its bytes from those that were set aside.
void keep(const Left& left, std::uint64_t& set_aside);

}  // namespace nvs::interposer::memory::graphs
