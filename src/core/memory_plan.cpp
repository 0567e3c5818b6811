// SPDX-License-Identifier: Apache-2.0
#include "core/memory_plan.h"

#include <utility>

namespace nvs::core {

std::vector<MemoryShare> divide(std::uint64_t capacity, std::span<const MemoryClaim> claims) {
  std::uint64_t left = capacity;
  std::vector<MemoryShare> shares(claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].bytes > left) continue;
    shares[i] = {claims[i].bytes, true};
    left -= claims[i].bytes;
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (shares[i].complete || claims[i].whole) continue;
    shares[i].bytes = std::exchange(left, 0);  // it needs more than that
  }
  return shares;
}

std::uint64_t slack_of(std::uint64_t free, std::uint64_t clients, Company company) {
  if (clients == 0) return 0;
  if (clients == 1 && company == Company::alone) return free;
  return free / 2 / clients;
}

}  // namespace nvs::core
