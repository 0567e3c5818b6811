// SPDX-License-Identifier: Apache-2.0
// What the victims of the kill test do: everything that puts an entry into the machine's books, in
// an order of chance, over and over, checking their own data all the while.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cuda_api/cuda.h"
#include "tests/cuda_sim/line.h"

namespace nvs::sim_test {

inline constexpr unsigned kWorkers = 4;

/// A page that the workers and the test share.
struct Board {
  std::array<std::atomic<std::uint64_t>, kWorkers> progress{};
  /// The last IPC handle each of them published; torn when its writer was killed, like any post.
  std::array<CUipcMemHandle, kWorkers> handles{};
};

/// Carries descriptors of exported memory between the workers, to whoever is quickest.
struct Exports {
  Line& in;
  Line& out;
};

/// Returns only by an exception: when the driver answers something that no death of others excuses.
void work_until_killed(Board& board, unsigned self, std::uint64_t seed, Exports exports);

}  // namespace nvs::sim_test
