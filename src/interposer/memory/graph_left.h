// SPDX-License-Identifier: Apache-2.0
// Memory that a graph allocates and does not free itself: it outlives the graph, and the context
// that was current then. It is of the process and the GPU, until it is freed.
#pragma once

#include <cstdint>

#include "interposer/memory/records.h"

namespace nvs::interposer::memory::graphs {

struct Left {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = kUnknownDevice;
};

// What has been launched and not freed since is there, with or without its graph. Where there is no
// context in which to ask, it is taken to be there.
bool is_there(const Left& left);

// From then on it counts by its address. There is no moment in which it counts twice or not at all:
// it takes its bytes from those that were set aside.
void keep(const Left& left, std::uint64_t& set_aside);

}  // namespace nvs::interposer::memory::graphs
