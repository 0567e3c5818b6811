// SPDX-License-Identifier: Apache-2.0
// How a GPU's memory is divided between tenants that together may have allocated more than there
// is. Pure arithmetic: who runs before whom is decided elsewhere, and what is planned here is
// brought about step by step as memory becomes free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nvs::core {

// What a tenant needs of a GPU's memory beside what cannot be moved, or a part of it.
struct MemoryClaim {
  std::uint64_t bytes = 0;
  bool whole = false;  // a part of it is of no use
};

struct MemoryShare {
  std::uint64_t bytes = 0;
  bool complete = false;  // all that was claimed
};

// The claims in the order in which tenants will run: each one gets all of its memory if that fits
// beside what those before it get, and only so much is taken from the others as must be; of what is
// left over, those that run sooner keep more.
std::vector<MemoryShare> divide(std::uint64_t capacity, std::span<const MemoryClaim> claims);

// If all fit, programs may allocate more without asking: all that is free for one that is alone,
// else half of it, in equal parts. The other half is for whoever asks next.
enum class Company : std::uint8_t { alone, shared };
std::uint64_t slack_of(std::uint64_t free, std::uint64_t clients, Company company);

}  // namespace nvs::core
