// SPDX-License-Identifier: Apache-2.0
// What a client has of a GPU's memory, in bytes, as it says itself; or all of a tenant's, added up.
#pragma once

#include <cstdint>

namespace nvs::daemon {

struct HeldMemory {
  std::uint64_t resident = 0;  // can be moved, and is on the GPU
  std::uint64_t away = 0;      // can be moved, and is not
  std::uint64_t fixed = 0;     // cannot be moved
  std::uint64_t asked = 0;     // its threads wait to have that much more
  std::uint64_t clean = 0;     // of resident: can leave without being copied
  std::uint64_t host = 0;      // in host memory
  // Copied to host memory and back, all in all.
  std::uint64_t copied_out = 0;
  std::uint64_t copied_in = 0;
  std::uint64_t managed = 0;  // Unified Memory, wherever the driver has it; resident may be of it
  // Of managed: is not told as resident, and may be on the GPU all the same until somebody needs
  // its room.
  std::uint64_t loose = 0;
  std::uint64_t early = 0;  // of fixed: may not be on the GPU yet

  std::uint64_t allocated() const { return resident + away + fixed; }
  std::uint64_t on_gpu() const { return resident + fixed; }

  HeldMemory& operator+=(const HeldMemory& other) {
    resident += other.resident;
    away += other.away;
    fixed += other.fixed;
    asked += other.asked;
    clean += other.clean;
    host += other.host;
    copied_out += other.copied_out;
    copied_in += other.copied_in;
    managed += other.managed;
    loose += other.loose;
    early += other.early;
    return *this;
  }
  HeldMemory& operator-=(const HeldMemory& other) {
    resident -= other.resident;
    away -= other.away;
    fixed -= other.fixed;
    asked -= other.asked;
    clean -= other.clean;
    host -= other.host;
    copied_out -= other.copied_out;
    copied_in -= other.copied_in;
    managed -= other.managed;
    loose -= other.loose;
    early -= other.early;
    return *this;
  }
  bool operator==(const HeldMemory&) const = default;
};

}  // namespace nvs::daemon
