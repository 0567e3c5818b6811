// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/allocate.h"

#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::kSmallEnd;
using vmm::Region;
using vmm::RegionFacts;
using vmm::RegionKind;
using vmm::SpanOwner;

// Somebody who waits for room looks again at least so often: the daemon may be gone.
constexpr std::int64_t kLookAgain_ns = 50'000'000;
// The driver lacks memory that we may have: others still have to give it back.
constexpr std::int64_t kShortPause_ns = 2'000'000;
constexpr std::int64_t kShortPatience_ns = 20'000'000'000;
// The same where nobody else is known to be there.
constexpr std::int64_t kAlonePatience_ns = 300'000'000;

struct Place {
  std::uint64_t context = 0;
  int device = -1;
  std::uint64_t granularity = 0;
};

// Asked of the driver once a device. 1: no.
constinit std::atomic<std::uint64_t> granularities[gate::kGpusMax] = {};

std::uint64_t granularity_of(int device) {
  std::uint64_t known = granularities[device].load(std::memory_order_relaxed);
  if (known == 0) {
    if (!is_supported(device, known)) known = 1;
    granularities[device].store(known, std::memory_order_relaxed);
  }
  return known;
}

// Where the calling thread allocates; false if that is not for us.
bool find_place(Place& place) {
  if (!session::has_any_daemon()) return false;
  CUdevice device = -1;
  const auto ask = real<Row::cuCtxGetDevice>();
  if (ask == nullptr || ask(&device) != CUDA_SUCCESS) return false;
  if (device < 0 || device >= gate::kGpusMax || !session::has_daemon(device)) return false;
  place = {memory::current_context().value, device, granularity_of(device)};
  return place.context != 0 && place.granularity > 1;
}

// Reserves room for so much, waiting for it if need be. False: there is no such room for us.
bool take_room(int gpu, std::uint64_t bytes) {
  bool asks = false;
  for (;;) {
    std::uint32_t seen = 0;
    {
      const os::FutexGuard guard(lock);
      Room& room = rooms[gpu];
      seen = room.changes.load(std::memory_order_relaxed);
      if (asks) room.asked -= bytes;
      if (!may_allocate(gpu, bytes)) return false;
      if (may_have_more(gpu) >= bytes) {
        room.backing += bytes;
        return true;
      }
      room.asked += bytes;
      asks = true;
    }
    session::tell_holds(gpu);
    wait_for_change(gpu, seen, kLookAgain_ns);
  }
}

void give_room(int gpu, std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  rooms[gpu].backing -= bytes;
  changed(gpu);
}

void set_short(int gpu, bool is_short) {
  {
    const os::FutexGuard guard(lock);
    if (rooms[gpu].is_short == is_short) return;
    rooms[gpu].is_short = is_short;
  }
  session::tell_holds(gpu);
}

bool is_shared(int gpu) {
  const os::FutexGuard guard(lock);
  return rooms[gpu].shared;
}

// One chunk's pages. What others hold too long on their way out is waited for.
CUresult back_patiently(int gpu, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t& handle) {
  std::int64_t waited_ns = 0;
  for (;;) {
    const CUresult result = back(gpu, address, bytes, handle);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    if (waited_ns >= (is_shared(gpu) ? kShortPatience_ns : kAlonePatience_ns)) return result;
    set_short(gpu, true);
    os::sleep_ns(kShortPause_ns);
    waited_ns += kShortPause_ns;
  }
}

// Pages for all chunks of a draft.
CUresult back_all(Region* draft) {
  const vmm::Split& split = draft->split();
  const int gpu = draft->facts().device;
  for (std::uint32_t i = 0; i < split.chunks; ++i) {
    const std::uint64_t address = draft->base() + split.offset_of(i);
    std::uint64_t handle = 0;
    const CUresult result = back_patiently(gpu, address, split.bytes_of(i), handle);
    if (result != CUDA_SUCCESS) return result;
    regions.apply(draft, i, {.event = vmm::ChunkEvent::backed, .handle = handle});
  }
  set_short(gpu, false);
  return CUDA_SUCCESS;
}

void release_chunk(const Region* region, std::uint32_t chunk, const vmm::Outcome& outcome) {
  const vmm::Split& split = region->split();
  if (outcome.handle != 0) {
    unback(region->base() + split.offset_of(chunk), split.bytes_of(chunk), outcome.handle);
  }
  if (outcome.place.is_some()) host_room.give(outcome.place);
}

// With the lock held. What of it is on the move is ended by the mover.
void end_region(Region* region) {
  const int gpu = region->facts().device;
  regions.free(region, [region](std::uint32_t chunk, const vmm::Outcome& outcome) {
    release_chunk(region, chunk, outcome);
  });
  if (region->is_over()) {
    give_addresses(region->base(), region->split().bytes);
    regions.remove(region);
  }
  changed(gpu);
}

Got got_for(CUresult result) {
  return result == CUDA_ERROR_OUT_OF_MEMORY ? Got::nothing : Got::native;
}

Region* draft_at(std::uint64_t base, const Place& place, std::uint64_t bytes, RegionKind kind) {
  const os::FutexGuard guard(lock);
  return regions.draft({base, bytes, place.granularity, place.context, place.device, kind});
}

void throw_away(Region* draft) {
  regions.free(draft, [draft](std::uint32_t chunk, const vmm::Outcome& outcome) {
    release_chunk(draft, chunk, outcome);
  });
  const os::FutexGuard guard(lock);
  regions.discard(draft);
}

// A region of its own, in room that was taken for it.
CUresult make_in_room(const Place& place, std::uint64_t bytes, RegionKind kind,
                      std::uint64_t base) {
  Region* draft = draft_at(base, place, bytes, kind);
  if (draft == nullptr) return CUDA_ERROR_UNKNOWN;
  const CUresult result = back_all(draft);
  if (result != CUDA_SUCCESS) {
    throw_away(draft);
    return result;
  }
  const os::FutexGuard guard(lock);
  rooms[place.device].backing -= draft->split().bytes;
  regions.publish(draft);
  return CUDA_SUCCESS;
}

Got make_region(const Place& place, std::uint64_t bytes, RegionKind kind, std::uint64_t& base) {
  vmm::Split split;
  if (!vmm::split_region(bytes, place.granularity, split)) return Got::nothing;
  if (!take_room(place.device, split.bytes)) return Got::nothing;
  base = reserve_addresses(split.bytes);
  const CUresult result = base != 0 ? make_in_room(place, bytes, kind, base) : CUDA_ERROR_UNKNOWN;
  if (result == CUDA_SUCCESS) return Got::memory;
  if (base != 0) give_addresses(base, split.bytes);
  give_room(place.device, split.bytes);
  return got_for(result);
}

Got take_piece(const Place& place, std::uint64_t bytes, std::uint64_t& address) {
  const SpanOwner owner{place.context, place.device};
  for (;;) {
    std::uint64_t arena_bytes = 0;
    {
      const os::FutexGuard guard(lock);
      vmm::Took took = vmm::Took::done;
      const vmm::Piece* piece = arenas.take(owner, bytes, took);
      if (piece != nullptr) {
        address = piece->base;
        return Got::memory;
      }
      if (took != vmm::Took::no_room) return Got::native;
      arena_bytes = arenas.next_bytes(owner);
    }
    std::uint64_t base = 0;
    Got got = make_region(place, arena_bytes, RegionKind::arena, base);
    // A large one may not fit where the smallest does.
    if (got == Got::nothing && arena_bytes > vmm::kArenaMin) {
      got = make_region(place, vmm::kArenaMin, RegionKind::arena, base);
    }
    if (got != Got::memory) return got;
    const os::FutexGuard guard(lock);
    Region* region = regions.find(base);
    if (!arenas.add(owner, base, region->split().bytes)) {
      end_region(region);
      return Got::native;
    }
  }
}

}  // namespace

bool is_for_us() {
  Place place;
  return find_place(place);
}

Got allocate(std::uint64_t bytes, RegionKind kind, std::uint64_t& address) {
  const libc::NoCancel no_cancel;
  Place place;
  if (bytes == 0 || !find_place(place)) return Got::native;
  if (bytes < kSmallEnd) return take_piece(place, bytes, address);
  return make_region(place, bytes, kind, address);
}

bool find(std::uint64_t address, Allocated& found) {
  const os::FutexGuard guard(lock);
  const Region* region = regions.find(address);
  if (region == nullptr) return false;
  const RegionFacts& facts = region->facts();
  found = {facts.base, facts.bytes, facts.context, facts.device};
  if (facts.kind != RegionKind::arena) return address - facts.base < facts.bytes;
  const vmm::Piece* piece = arenas.find(address);
  if (piece == nullptr || address - piece->base >= piece->asked) return false;
  found.base = piece->base;
  found.bytes = piece->asked;
  return true;
}

bool free(std::uint64_t address) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  Region* region = regions.find(address);
  if (region == nullptr) return false;
  if (region->facts().kind != RegionKind::arena) {
    if (region->base() != address) return false;
    end_region(region);
    return true;
  }
  const vmm::Piece* piece = arenas.find(address);
  if (piece == nullptr || piece->base != address) return false;
  const vmm::Span* arena = arenas.give(address);
  if (arena != nullptr && arena->is_empty() && arenas.remove_empty(region->base())) {
    end_region(region);
  }
  return true;
}

void context_ended(std::uint64_t context) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  regions.visit_context(context, [](Region* region) {
    if (region->facts().kind == RegionKind::arena) arenas.remove(region->base());
    end_region(region);
  });
}

}  // namespace nvs::interposer::swap
