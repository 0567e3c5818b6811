// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/allocate.h"

#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/created.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/take_room.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::kSmallEnd;
using vmm::Region;
using vmm::RegionFacts;
using vmm::RegionKind;
using vmm::SpanOwner;

// How often room is asked for anew where the driver has less than the daemon thinks.
constexpr int kShortTries = 1000;

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

// For memory of no context.
bool find_place(int device, Place& place) {
  if (device < 0 || device >= gate::kGpusMax || !session::has_daemon(device)) return false;
  if (rooms[device].is_faulted) return false;  // the driver says what is wrong
  place = {0, device, granularity_of(device)};
  return place.granularity > 1;
}

bool find_place(const SpanOwner& owner, Place& place) {
  if (!find_place(owner.device, place)) return false;
  const auto context = reinterpret_cast<CUcontext>(owner.context);
  place.context = memory::number_of(contexts::owner_for(context, owner.device));
  return owner.context != 0;
}

// Where the calling thread allocates; false if that is not for us.
bool find_place(Place& place) {
  if (!session::has_any_daemon()) return false;
  CUdevice device = -1;
  const auto ask = real<Row::cuCtxGetDevice>();
  if (ask == nullptr || ask(&device) != CUDA_SUCCESS) return false;
  return find_place({memory::current_context().value, device}, place);
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

// Who waited for room while the context was lost is told so by the driver.
Got got_for(CUresult result, int gpu) {
  if (rooms[gpu].is_faulted) return Got::native;
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
  const std::uint32_t given = times_given(place.device);
  const CUresult result = back_all(draft);
  if (result != CUDA_SUCCESS) {
    throw_away(draft);
    return result;
  }
  const os::FutexGuard guard(lock);
  rooms[place.device].backing -= draft->split().bytes;
  give_access_since(given, *draft);
  regions.publish(draft);
  return CUDA_SUCCESS;
}

// The same again and again, as long as others may give the driver's memory back.
CUresult make_where_room_is(const Place& place, const vmm::Split& split, std::uint64_t bytes,
                            RegionKind kind, std::uint64_t base) {
  const int gpu = place.device;
  if (!take_room(gpu, split.bytes, false)) return CUDA_ERROR_OUT_OF_MEMORY;
  for (int tries = 1;; ++tries) {
    const CUresult result = make_in_room(place, bytes, kind, base);
    if (result == CUDA_SUCCESS) return result;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || tries == kShortTries || !is_shared(gpu)) {
      give_room(gpu, split.bytes);
      return result;
    }
    ask_again(gpu, split.bytes, split.bytes);
    if (!take_room(gpu, split.bytes, true)) return result;
  }
}

Got make_region(const Place& place, std::uint64_t bytes, RegionKind kind, std::uint64_t& base) {
  vmm::Split split;
  if (!vmm::split_region(bytes, place.granularity, split)) return Got::nothing;
  base = reserve_addresses(split.bytes);
  if (base == 0) return Got::native;
  const CUresult result = make_where_room_is(place, split, bytes, kind, base);
  set_short(place.device, false);
  if (result == CUDA_SUCCESS) return Got::memory;
  give_addresses(base, split.bytes);
  return got_for(result, place.device);
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

bool is_movable(int device) { return granularity_of(device) > 1; }

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

Got allocate_in(const SpanOwner& owner, std::uint64_t bytes, RegionKind kind,
                std::uint64_t& address) {
  Place place;
  if (bytes == 0 || !find_place(owner, place)) return Got::native;
  if (bytes < kSmallEnd) return take_piece(place, bytes, address);
  return make_region(place, bytes, kind, address);
}

// What is created is written down before it has pages, whose properties are the program's.
Got allocate_created(std::uint64_t bytes, const CUmemAllocationProp& prop, std::uint64_t& token) {
  Place place;
  vmm::Split split;
  if (!find_place(prop.location.id, place)) return Got::native;
  if (bytes == 0 || bytes % place.granularity != 0) return Got::native;
  if (!vmm::split_region(bytes, place.granularity, split)) return Got::nothing;
  const std::uint64_t base = reserve_addresses(split.bytes);
  if (base == 0) return Got::native;
  token = add_created(base, split, prop);
  CUresult result = CUDA_ERROR_UNKNOWN;
  if (token != 0) {
    result = make_where_room_is(place, split, bytes, RegionKind::created, base);
    set_short(place.device, false);
    if (result == CUDA_SUCCESS) return Got::memory;
    drop_created(token);  // before anybody else can have the addresses
  }
  give_addresses(base, split.bytes);
  return got_for(result, place.device);
}

bool describe(const Region& region, std::uint64_t address, Allocated& found) {
  const RegionFacts& facts = region.facts();
  if (facts.kind == RegionKind::created) return false;  // programs see it in views alone
  found = {facts.base, facts.bytes, facts.context, facts.device};
  if (facts.kind == RegionKind::arena) {
    const vmm::Piece* piece = arenas.find(address);
    if (piece == nullptr) return false;
    found.base = piece->base;
    found.bytes = piece->asked;
  }
  if (const vmm::HeapBlock* block = stream_heap.find(found.base)) {
    if (block->state != vmm::BlockState::used) return false;
    found.bytes = block->asked;
    found.pool = block->pool->handle;
  }
  return address - found.base < found.bytes;
}

bool find(std::uint64_t address, Allocated& found) {
  const os::FutexGuard guard(lock);
  const Region* region = regions.find(address);
  return region != nullptr && describe(*region, address, found);
}

std::uint64_t bytes_at(std::uint64_t base) {
  const Region* region = regions.find(base);
  if (region == nullptr) return 0;
  if (region->facts().kind != RegionKind::arena) return region->split().bytes;
  const vmm::Piece* piece = arenas.find(base);
  return piece != nullptr ? piece->bytes : 0;
}

bool end_allocation(std::uint64_t address) {
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

bool free(std::uint64_t address) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  vmm::HeapBlock* block = stream_heap.find(address);
  if (block == nullptr) return end_allocation(address);
  if (block->state != vmm::BlockState::used) return false;
  if (regions.find(address)->is_pinned()) stream_heap.give_to_nobody(block);
  stream_heap.begin_free(block);
  stream_heap.end_free(block, nullptr, 0);
  note_surplus();
  return true;
}

void context_ended(std::uint64_t context) {
  if (context == 0) return;
  const libc::NoCancel no_cancel;
  const Looking looking;
  const os::FutexGuard guard(lock);
  stream_heap.context_ended(context);
  note_surplus();
  regions.visit_context(context, [](Region* region) {
    if (region->facts().kind == RegionKind::arena) arenas.remove(region->base());
    end_region(region);
  });
}

}  // namespace nvs::interposer::swap
