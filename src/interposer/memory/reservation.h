// SPDX-License-Identifier: Apache-2.0
// Bytes that count against the tenant's limit before anything is allocated, and until it is known
// what came of it: an allocation takes them over, or they are given back. To the byte that the
// program asked for; what is rounded up is ours to pay. Where there is no account nothing happens.
#pragma once

#include <cstdint>

#include "interposer/memory/books.h"

namespace nvs::interposer::memory {

class Reservation {
 public:
  Reservation() = default;
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  // Once, or again if it was refused. False: it would be more than the tenant may have. Nothing is
  // an allocation that the driver refuses, so it is never too much. Waits for the daemon's word
  // about a GPU the first time, for a moment. Memory of the host (kHostDevice) counts nowhere.
  bool take(int gpu, std::uint64_t bytes);
  // On the GPU that was named before, or else on that of the current context.
  bool take_here(std::uint64_t bytes);

  // To the allocation that is written down next; the books have it from then on.
  Reserved hand_over();

 private:
  Reserved held_;
};

// As many bytes as there can be where it is more.
constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

}  // namespace nvs::interposer::memory
