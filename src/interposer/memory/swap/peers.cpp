// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/peers.h"

#include <bit>

#include "interposer/exports/real.h"
#include "interposer/gate/inside.h"
#include "interposer/memory/swap/rooms.h"

namespace nvs::interposer::swap {
namespace {

constinit std::atomic<std::uint32_t> peers[gate::kGpusMax] = {};
// By access to a pool, which is not taken back (ADR 13).
constinit std::atomic<std::uint32_t> pool_users[gate::kGpusMax] = {};
constinit std::atomic<std::uint32_t> viewers[gate::kGpusMax] = {};
// Given copies since they last stood still.
constinit std::atomic<std::uint32_t> crossers[gate::kGpusMax] = {};

// With the lock held, so that no chunk comes or goes meanwhile.
void set_access(int owner, int user, CUmemAccess_flags flags) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, user}, flags};
  for (vmm::Region* region = regions.newest(owner); region != nullptr; region = region->older()) {
    const vmm::Split& split = region->split();
    for (std::uint32_t i = 0; i < split.chunks; ++i) {
      if (region->chunk(i).handle == 0) continue;
      real<Row::cuMemSetAccess>()(region->base() + split.offset_of(i), split.bytes_of(i), &access,
                                  1);
    }
  }
}

bool is_pair(int owner, int user) {
  return owner >= 0 && owner < gate::kGpusMax && user >= 0 && user < gate::kGpusMax &&
         owner != user;
}

// Who comes in from now on gets it by itself, so that is said first. Inside the gate: nothing is on
// its way out then that nobody waited with for the new user to stand still.
void enable(std::atomic<std::uint32_t> (&users)[gate::kGpusMax], int owner, int user) {
  if (!is_pair(owner, user)) return;
  gate::inside([&] {
    users[owner].fetch_or(1U << user);
    const os::FutexGuard guard(lock);
    set_access(owner, user, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return CUDA_SUCCESS;
  });
}

}  // namespace

std::uint32_t users_of(int device) {
  return peers[device].load(std::memory_order_acquire) |
         pool_users[device].load(std::memory_order_acquire) | (1U << device);
}

std::uint32_t reached_by(int device) {
  return users_of(device) | viewers[device].load(std::memory_order_acquire);
}

void view_reaches(int owner, int user) {
  if (is_pair(owner, user)) viewers[owner].fetch_or(1U << user);
}

void peer_enabled(int owner, int user) { enable(peers, owner, user); }

void pool_enabled(int owner, int user) { enable(pool_users, owner, user); }

void peer_disabled(int owner, int user) {
  if (!is_pair(owner, user)) return;
  crossers[owner].fetch_or(1U << user);  // what it was given before may still run
  peers[owner].fetch_and(~(1U << user));
  const os::FutexGuard guard(lock);
  if ((pool_users[owner].load() & (1U << user)) != 0) return;
  set_access(owner, user, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

void crossed(std::uint32_t owners, std::uint32_t users) {
  for (; owners != 0; owners &= owners - 1) {
    const int owner = std::countr_zero(owners);
    const std::uint32_t others = users & ~(1U << owner);
    if ((others & ~crossers[owner].load(std::memory_order_relaxed)) != 0) {
      crossers[owner].fetch_or(others);
    }
  }
}

void stands_still(int user) {
  for (auto& one : crossers) {
    if ((one.load() & (1U << user)) != 0) one.fetch_and(~(1U << user));
  }
}

bool has_crossed(int owner, int user) { return (crossers[owner].load() & (1U << user)) != 0; }

std::uint32_t touched_by(int device) { return reached_by(device) | crossers[device].load(); }

void forget_peers_in_child() {
  for (auto& one : crossers) one.store(0, std::memory_order_relaxed);
  for (auto& one : peers) one.store(0, std::memory_order_relaxed);
  for (auto& one : pool_users) one.store(0, std::memory_order_relaxed);
  for (auto& one : viewers) one.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
