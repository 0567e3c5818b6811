// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/ordered.h"

#include "interposer/exports/real.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/ordered_streams.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::BlockState;
using vmm::HeapBlock;
using vmm::HeapPool;
using vmm::HeapStream;
using vmm::StreamMarks;

// Streams that have yet to get past a free are looked at so often, and not for ever.
constexpr std::int64_t kPause_ns = 2'000'000;
constexpr std::int64_t kPatience_ns = 20'000'000'000;

// A default stream that nothing waits for may be forgotten as soon as it is found, if many others
// were met meanwhile. It is found again, but not for ever.
constexpr int kFindsMax = 100;

enum class Search : std::uint8_t { found, nothing, look_first, not_ours };

// An idle block. What other streams have freed is only known after a look.
Search search(const StreamPlace& place, std::uint64_t pool_handle, std::uint64_t bytes,
              std::uint64_t& base) {
  const os::FutexGuard guard(lock);
  HeapPool* pool = stream_heap.find_pool(pool_handle);
  if (pool == nullptr || pool->device != place.device) return Search::not_ours;
  const HeapStream* stream = stream_heap.find_stream(place.key);
  const HeapBlock* block = stream_heap.take(pool, place.context, stream, bytes);
  if (block == nullptr) return pool->waiting != 0 ? Search::look_first : Search::nothing;
  base = block->base;
  note_surplus();
  return Search::found;
}

Search search_well(const StreamPlace& place, std::uint64_t pool, std::uint64_t bytes,
                   std::uint64_t& base) {
  const Search first = search(place, pool, bytes, base);
  if (first != Search::look_first) return first;
  {
    const Looking looking;
    look_at_streams();
  }
  return search(place, pool, bytes, base);
}

enum class Space : std::uint8_t { enough, soon, never };

// A pool may have a limit; what it has is little help if it does not fit.
Space space_in(std::uint64_t handle, std::uint64_t bytes, std::uint64_t& keep) {
  const os::FutexGuard guard(lock);
  const HeapPool* pool = stream_heap.find_pool(handle);
  if (pool == nullptr || pool->has_space_for(bytes)) return Space::enough;
  if (bytes > pool->maximum) return Space::never;
  keep = pool->maximum - bytes;
  return pool->waiting != 0 || pool->free.first != nullptr ? Space::soon : Space::never;
}

bool make_space(std::uint64_t pool, std::uint64_t bytes) {
  for (std::int64_t waited_ns = 0; waited_ns < kPatience_ns; waited_ns += kPause_ns) {
    std::uint64_t keep = 0;
    Space space = space_in(pool, bytes, keep);
    if (space == Space::soon) {
      trim_pool(pool, keep);
      space = space_in(pool, bytes, keep);
    }
    if (space != Space::soon) return space == Space::enough;
    os::sleep_ns(kPause_ns);
  }
  return false;
}

// The pool may be gone by now, and then it is nobody's.
bool write_down(const StreamPlace& place, std::uint64_t pool, std::uint64_t base,
                std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  const vmm::SpanOwner owner{place.context, place.device};
  const HeapBlock* block =
      stream_heap.add(base, bytes_at(base), bytes, owner, stream_heap.find_pool(pool));
  if (block == nullptr) end_allocation(base);
  note_surplus();
  return block != nullptr;
}

Got allocate_new(const StreamPlace& place, std::uint64_t pool, std::uint64_t bytes,
                 std::uint64_t& base) {
  if (!make_space(pool, bytes)) return Got::nothing;
  const Got got = allocate_in({place.context, place.device}, bytes, vmm::RegionKind::async, base);
  if (got != Got::memory) return got;
  return write_down(place, pool, base, bytes) ? Got::memory : Got::native;
}

enum class Begun : std::uint8_t { yes, not_ours, stream_forgotten };

struct Free {
  StreamMarks::Ticket ticket;
  HeapStream* stream = nullptr;  // it stays while this is being recorded
  CUevent event = nullptr;
};

// With the lock held. Memory that was not allocated in any stream's order can be freed in one; and
// nobody may get again what other devices may still hold on to.
HeapBlock* find_used(std::uint64_t address) {
  Allocated found;
  const vmm::Region* region = regions.find(address);
  if (region == nullptr || !describe(*region, address, found) || found.base != address) {
    return nullptr;
  }
  HeapBlock* block = stream_heap.find(address);
  if (block == nullptr) {
    const vmm::SpanOwner owner{found.context, found.device};
    return stream_heap.add(address, bytes_at(address), found.bytes, owner, nullptr);
  }
  if (region->is_pinned()) stream_heap.give_to_nobody(block);
  return block;
}

Begun begin_free(std::uint64_t address, const StreamPlace& place, Free& free) {
  const os::FutexGuard guard(lock);
  free.stream = stream_heap.find_stream(place.key);
  if (free.stream == nullptr) return Begun::stream_forgotten;
  HeapBlock* block = find_used(address);
  if (block == nullptr) return Begun::not_ours;
  stream_heap.begin_free(block);
  free.ticket = free.stream->marks.begin();
  free.event = reinterpret_cast<CUevent>(free.stream->events[free.ticket.event]);
  return Begun::yes;
}

CUresult find_and_begin(std::uint64_t address, CUstream stream, Free& free) {
  for (int i = 0; i < kFindsMax; ++i) {
    StreamPlace place;
    const CUresult found = find_stream(stream, place);
    if (found != CUDA_SUCCESS) return found;
    const Begun begun = begin_free(address, place, free);
    if (begun == Begun::yes) return CUDA_SUCCESS;
    if (begun == Begun::not_ours) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

void end_free(std::uint64_t address, const Free& free, CUresult recorded) {
  const os::FutexGuard guard(lock);
  free.stream->marks.end(free.ticket);
  HeapBlock* block = stream_heap.find(address);
  // A context that ended meanwhile has taken it along.
  if (block == nullptr || block->state != BlockState::going) return;
  if (recorded != CUDA_SUCCESS) {
    stream_heap.cancel_free(block);
  } else if (free.stream->owner.context == 0) {
    stream_heap.end_free(block, nullptr, 0);
  } else {
    stream_heap.end_free(block, free.stream, free.ticket.number);
  }
  note_surplus();
}

}  // namespace

Got allocate_ordered(const Ordered& wanted, Allocated& made, memory::Reservation& reserved) {
  if (wanted.bytes == 0 || !session::may_be_movable()) return Got::native;
  const libc::NoCancel no_cancel;
  StreamPlace place;
  if (find_stream(wanted.stream, place) != CUDA_SUCCESS) return Got::native;
  const int pools = wanted.pool != 0 ? device_of_pool(wanted.pool) : memory::kUnknownDevice;
  const int device = pools != memory::kUnknownDevice ? pools : place.device;
  if (!reserved.take(device, wanted.bytes)) return Got::nothing;
  if (!know_pools_of(place.device)) return Got::native;
  const std::uint64_t pool = wanted.pool != 0 ? wanted.pool : current_pool(place.device);
  made = {0, wanted.bytes, place.context, place.device, pool};
  switch (search_well(place, pool, wanted.bytes, made.base)) {
    case Search::found:
      return Got::memory;
    case Search::not_ours:
      return Got::native;
    case Search::nothing:
    case Search::look_first:
      break;
  }
  return allocate_new(place, pool, wanted.bytes, made.base);
}

CUresult free_ordered(std::uint64_t address, CUstream stream) {
  const libc::NoCancel no_cancel;
  Free free;
  const CUresult begun = find_and_begin(address, stream, free);
  if (begun != CUDA_SUCCESS) return begun;
  const CUresult recorded = real<Row::cuEventRecord>()(free.event, stream);
  end_free(address, free, recorded);
  return recorded;
}

}  // namespace nvs::interposer::swap
