// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/reach.h"

#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"

namespace nvs::interposer::swap {
namespace {

bool reaches(int gpu, int owner) { return (reached_by(owner) & (1U << gpu)) != 0; }

// With the lock held, all of these. Where all contexts are lost nothing comes any more.
bool is_complete(int owner) {
  const vmm::Sums sums = regions.sums(owner);
  return rooms[owner].is_faulted || (sums.away() == 0 && sums.coming == 0 && sums.leaving == 0);
}

// While it runs, none of it goes.
bool has_to_go(int owner) {
  return gate::is_closed(owner) && !rooms[owner].is_faulted && on_device(owner) > allowance(owner);
}

// Its own may be above what it is allowed for a moment. Others would have to stop it again.
std::uint32_t lacks(int gpu) {
  std::uint32_t owners = 0;
  for (int owner = 0; owner < gate::kGpusMax; ++owner) {
    if (owner == gpu || !reaches(gpu, owner)) continue;
    if (!is_complete(owner) || has_to_go(owner)) owners |= 1U << owner;
  }
  return owners;
}

}  // namespace

std::uint32_t lacking(int gpu) {
  const os::FutexGuard guard(lock);
  return lacks(gpu);
}

bool begin_window(int gpu) {
  const os::FutexGuard guard(lock);
  if (!is_complete(gpu) || lacks(gpu) != 0) return false;
  for (int owner = 0; owner < gate::kGpusMax; ++owner) {
    if (reaches(gpu, owner)) regions.written(owner);
  }
  return true;
}

}  // namespace nvs::interposer::swap
