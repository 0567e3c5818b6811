// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/ordered_release.h"

#include <algorithm>
#include <atomic>

#include "interposer/exports/real.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::swap {
namespace {

using vmm::HeapBlock;
using vmm::HeapPool;
using vmm::HeapStream;
using vmm::StreamMarks;

constexpr int kAnyDevice = -1;
constexpr std::uint64_t kThreshold = ~std::uint64_t{0};  // as much as the program lets it keep
constexpr std::uint64_t kAll = ~std::uint64_t{0};
// Default streams, whose threads may be gone: nobody tells, and they are known again at once.
constexpr int kDefaultsMax = 64;

constinit os::FutexLock look_lock;  // before the lock of the tables
constinit std::atomic<std::uint32_t> surplus{0};

// Its next event that something waits for; false if there is none.
bool next_event(const HeapStream* stream, CUevent& event) {
  const os::FutexGuard guard(lock);
  int which = 0;
  if (stream->waiting.first == nullptr || stream->is_ending) return false;
  if (!stream->marks.oldest(which)) return false;
  event = reinterpret_cast<CUevent>(stream->events[which]);
  return true;
}

void has_passed(HeapStream* stream) {
  const os::FutexGuard guard(lock);
  stream_heap.passed(stream, stream->marks.passed());
}

// The first one after null.
HeapStream* after(const HeapStream* stream) {
  const os::FutexGuard guard(lock);
  return stream != nullptr ? stream->next : stream_heap.streams();
}
HeapPool* after(const HeapPool* pool) {
  const os::FutexGuard guard(lock);
  return pool != nullptr ? pool->next : stream_heap.pools();
}
constexpr const HeapStream* kNoStream = nullptr;
constexpr const HeapPool* kNoPool = nullptr;

// With the lock held. The oldest block that can go.
HeapBlock* find_free(const HeapPool* pool, std::uint64_t keep, int device) {
  if (pool->reserved <= (keep == kThreshold ? pool->threshold : keep)) return nullptr;
  HeapBlock* block = pool->free.first;
  while (block != nullptr && device != kAnyDevice && block->owner.device != device) {
    block = block->after;
  }
  return block;
}

// How many bytes that was; 0: there is none.
std::uint64_t give_back_one(const HeapPool* pool, std::uint64_t keep, int device) {
  const os::FutexGuard guard(lock);
  HeapBlock* block = find_free(pool, keep, device);
  if (block == nullptr) return 0;
  const std::uint64_t base = block->base;
  const std::uint64_t bytes = block->bytes;
  stream_heap.remove(block);
  end_allocation(base);
  note_surplus();
  return bytes;
}

// While looking. `wanted` is what is still to be given back. Whether there was any.
bool give_back(const HeapPool* pool, std::uint64_t keep, int device, std::uint64_t& wanted) {
  bool any = false;
  while (wanted > 0) {
    const std::uint64_t bytes = give_back_one(pool, keep, device);
    if (bytes == 0) break;
    wanted -= std::min(wanted, bytes);
    any = true;
  }
  return any;
}

bool give_back_of_all(std::uint64_t keep, int device, std::uint64_t wanted) {
  bool any = false;
  {
    const Looking looking;
    look_at_streams();
    for (HeapPool* pool = after(kNoPool); pool != nullptr; pool = after(pool)) {
      any = give_back(pool, keep, device, wanted) || any;
    }
  }
  if (any) memory::end_shares();
  return any;
}

bool is_anything_waiting(int device) {
  const os::FutexGuard guard(lock);
  for (HeapStream* stream = stream_heap.streams(); stream != nullptr; stream = stream->next) {
    for (HeapBlock* block = stream->waiting.first; block != nullptr; block = block->after) {
      if (block->owner.device == device && !stream->is_ending) return true;
    }
  }
  return false;
}

bool is_heap_empty() {
  const os::FutexGuard guard(lock);
  return stream_heap.size() == 0;
}

// While looking, with the lock held.
HeapStream* find_swept() {
  int defaults = 0;
  for (HeapStream* stream = stream_heap.streams(); stream != nullptr; stream = stream->next) {
    const bool is_default = stream->key.context != 0;
    defaults += is_default ? 1 : 0;
    if (!stream->is_empty() || stream->is_ending) continue;
    if (stream->is_gone || (is_default && defaults > kDefaultsMax)) return stream;
  }
  return nullptr;
}

bool sweep_one() {
  std::uint64_t events[StreamMarks::kMarksMax] = {};
  {
    const os::FutexGuard guard(lock);
    HeapStream* stream = find_swept();
    if (stream == nullptr) return false;
    for (int i = 0; i < StreamMarks::kMarksMax; ++i) events[i] = stream->events[i];
    stream_heap.remove_stream(stream);
  }
  for (const std::uint64_t event : events) {
    if (event != 0) real<Row::cuEventDestroy_v2>()(reinterpret_cast<CUevent>(event));
  }
  return true;
}

}  // namespace

Looking::Looking() { look_lock.lock(); }
Looking::~Looking() { look_lock.unlock(); }

// In a context that is broken, or at the end of the process, nothing runs any more.
void look_at_streams() {
  const RelaxedCapture relaxed;
  for (HeapStream* stream = after(kNoStream); stream != nullptr; stream = after(stream)) {
    CUevent event = nullptr;
    while (next_event(stream, event)) {
      if (real<Row::cuEventQuery>()(event) == CUDA_ERROR_NOT_READY) break;
      has_passed(stream);
    }
  }
  sweep_streams();
}

void sweep_streams() {
  while (sweep_one()) {
  }
}

void note_surplus() { surplus.store(stream_heap.pools_above(), std::memory_order_relaxed); }

bool has_surplus() { return surplus.load(std::memory_order_relaxed) != 0; }

void give_back_surplus() {
  const libc::NoCancel no_cancel;
  give_back_of_all(kThreshold, kAnyDevice, kAll);
}

void trim_pool(std::uint64_t handle, std::uint64_t keep) {
  const libc::NoCancel no_cancel;
  const Looking looking;
  look_at_streams();
  const HeapPool* pool = nullptr;
  {
    const os::FutexGuard guard(lock);
    pool = stream_heap.find_pool(handle);
  }
  std::uint64_t wanted = kAll;
  if (pool != nullptr) give_back(pool, keep, kAnyDevice, wanted);
}

Made make_room(int gpu, std::uint64_t bytes) {
  const libc::NoCancel no_cancel;
  if (is_heap_empty()) return Made::nothing;
  if (give_back_of_all(0, gpu, bytes)) return Made::room;
  return is_anything_waiting(gpu) ? Made::later : Made::nothing;
}

void make_room_above(int gpu, std::uint64_t allowed) {
  for (;;) {
    std::uint64_t above = 0;
    {
      const os::FutexGuard guard(lock);
      above = on_device(gpu) - std::min(on_device(gpu), allowed);
    }
    // A piece of an arena frees nothing by itself.
    if (above == 0 || make_room(gpu, above) != Made::room) return;
  }
}

void make_room_if_above(int gpu) {
  std::uint64_t allowed = kNoLimit;
  {
    const os::FutexGuard guard(lock);
    allowed = allowance(gpu);
  }
  make_room_above(gpu, allowed);
}

void forget_ordered_in_child() {
  look_lock.reset();
  stream_heap.forget();
  surplus.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
