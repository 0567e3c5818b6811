// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/peers.h"

#include <bit>

#include "interposer/exports/real.h"
#include "interposer/gate/inside.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

constinit std::atomic<std::uint32_t> peers[gate::kGpusMax] = {};
// By access to a pool, which is not taken back (ADR 13), or of contexts that have no place below.
constinit std::atomic<std::uint32_t> lasting[gate::kGpusMax] = {};
constinit std::atomic<std::uint32_t> viewers[gate::kGpusMax] = {};
// How often somebody was given access.
constinit std::atomic<std::uint32_t> given[gate::kGpusMax] = {};
// Given copies since they last stood still.
constinit std::atomic<std::uint32_t> crossers[gate::kGpusMax] = {};

struct ContextPair {
  std::uint64_t owner;  // 0: none
  std::uint64_t user;
  int owner_device;
  int user_device;

  bool is_on(int on_owner, int by_user) const {
    return owner != 0 && owner_device == on_owner && user_device == by_user;
  }
};
constinit ContextPair pairs[kContextPairsMax] = {};  // with the lock

// With the lock held, so that no chunk comes or goes meanwhile.
void set_access_to(const vmm::Region& region, int user, CUmemAccess_flags flags) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, user}, flags};
  const vmm::Split& split = region.split();
  for (std::uint32_t i = 0; i < split.chunks; ++i) {
    if (region.chunk(i).handle == 0) continue;
    real<Row::cuMemSetAccess>()(region.base() + split.offset_of(i), split.bytes_of(i), &access, 1);
  }
}

void set_access(int owner, int user, CUmemAccess_flags flags) {
  for (vmm::Region* region = regions.newest(owner); region != nullptr; region = region->older()) {
    set_access_to(*region, user, flags);
  }
}

bool is_pair(int owner, int user) {
  return owner >= 0 && owner < gate::kGpusMax && user >= 0 && user < gate::kGpusMax &&
         owner != user;
}

// With the lock held, all of these.
ContextPair* find_pair(std::uint64_t owner, std::uint64_t user) {
  for (ContextPair& pair : pairs) {
    if (pair.owner == owner && pair.user == user) return &pair;
  }
  return nullptr;
}

bool keep_pair(const PeerContext& owner, const PeerContext& user) {
  ContextPair* place = find_pair(owner.context, user.context);
  if (place == nullptr) place = find_pair(0, 0);
  if (place == nullptr) return false;
  *place = {owner.context, user.context, owner.device, user.device};
  return true;
}

// Who comes in from now on gets it by itself, so that is said first.
void give_access(std::atomic<std::uint32_t> (&users)[gate::kGpusMax], int owner, int user) {
  users[owner].fetch_or(1U << user);
  given[owner].fetch_add(1);
  set_access(owner, user, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

void drop_pair(ContextPair& gone) {
  const int owner = gone.owner_device;
  const int user = gone.user_device;
  gone = {};
  for (const ContextPair& pair : pairs) {
    if (pair.is_on(owner, user)) return;
  }
  peers[owner].fetch_and(~(1U << user));
  if ((lasting[owner].load() & (1U << user)) != 0) return;
  set_access(owner, user, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

// Inside the gate: nothing is on its way out then that nobody waited with for the new user to stand
// still.
template <class Work>
void with_lock_inside(Work work) {
  gate::inside([&] {
    const os::FutexGuard guard(lock);
    work();
    return CUDA_SUCCESS;
  });
}

}  // namespace

std::uint32_t users_of(int device) {
  return peers[device].load(std::memory_order_acquire) |
         lasting[device].load(std::memory_order_acquire) | (1U << device);
}

std::uint32_t times_given(int device) { return given[device].load(std::memory_order_acquire); }

void give_access_since(std::uint32_t seen, const vmm::Region& region) {
  const int owner = region.facts().device;
  if (times_given(owner) == seen) return;
  for (std::uint32_t left = users_of(owner) & ~(1U << owner); left != 0; left &= left - 1) {
    set_access_to(region, std::countr_zero(left), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
}

std::uint32_t reached_by(int device) {
  return users_of(device) | viewers[device].load(std::memory_order_acquire);
}

void view_reaches(int owner, int user) {
  if (is_pair(owner, user)) viewers[owner].fetch_or(1U << user);
}

void peer_enabled(const PeerContext& owner, const PeerContext& user) {
  if (!is_pair(owner.device, user.device)) return;
  with_lock_inside(
      [&] { give_access(keep_pair(owner, user) ? peers : lasting, owner.device, user.device); });
}

void pool_enabled(int owner, int user) {
  if (is_pair(owner, user)) with_lock_inside([&] { give_access(lasting, owner, user); });
}

// What the context was given before may still run, though others of its GPU keep their access, or
// end, before it is done. On a GPU that stands still nothing does, and nobody would drain it again.
void peer_disabled(const PeerContext& owner, const PeerContext& user) {
  if (!is_pair(owner.device, user.device)) return;
  const bool is_done = session::ClosedGates(1U << user.device).is_so();
  const os::FutexGuard guard(lock);
  ContextPair* const pair = find_pair(owner.context, user.context);
  if (pair == nullptr || pair->owner == 0) return;
  if (!is_done) crossers[owner.device].fetch_or(1U << user.device);
  drop_pair(*pair);
}

// With it ends what it was given.
void peer_ended(std::uint64_t context) {
  const os::FutexGuard guard(lock);
  for (ContextPair& pair : pairs) {
    if (pair.owner != 0 && (pair.owner == context || pair.user == context)) drop_pair(pair);
  }
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
  for (ContextPair& pair : pairs) pair = {};
  for (auto& one : lasting) one.store(0, std::memory_order_relaxed);
  for (auto& one : viewers) one.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
