// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/lane.h"

#include "interposer/exports/in_context.h"
#include "interposer/exports/real.h"
#include "interposer/memory/swap/known.h"
#include "interposer/session/contexts.h"
#include "interposer/session/faults.h"
#include "os/futex_lock.h"

extern "C" const char nvs_chunk_hash_ptx[] __attribute__((visibility("hidden")));

namespace nvs::interposer::swap {
namespace {

// What the kernel says of a chunk; it adds to the first two.
struct Digest {
  std::uint64_t low;
  std::uint64_t high;
  std::uint64_t not_zero;
  std::uint64_t unused;
};

struct Streams {
  CUcontext context;  // null: free
  CUstream out;
  CUstream in;
  CUstream hash;
  CUevent events[kSlots];
  CUevent hash_events[kSlots];
  CUmodule module;
  CUfunction kernel;    // null: this context cannot hash yet
  CUdeviceptr digests;  // one for each slot, and a copy of them for us
  Digest* seen;
};
constexpr int kStreamsMax = 64;

// How the kernel of chunk_hash.ptx is launched.
constexpr unsigned kBlocks = 512;
constexpr unsigned kBlockThreads = 256;
constexpr std::uint64_t kWordBytes = 16;

constinit os::FutexLock table_lock;  // guards which context an entry belongs to
constinit Streams table[kStreamsMax] = {};

bool make_events(CUevent (&events)[kSlots]) {
  constexpr unsigned kEventFlags = CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC;
  for (CUevent& event : events) {
    if (real<Row::cuEventCreate>()(&event, kEventFlags) != CUDA_SUCCESS) return false;
  }
  return true;
}

// Whatever there is of it, in its context, both.
void unmake_hash(Streams& made) {
  if (made.hash != nullptr) real<Row::cuStreamDestroy_v2>()(made.hash);
  for (CUevent& event : made.hash_events) {
    if (event != nullptr) real<Row::cuEventDestroy_v2>()(event);
    event = nullptr;
  }
  if (made.module != nullptr) real<Row::cuModuleUnload>()(made.module);
  if (made.digests != 0) real<Row::cuMemFree_v2>()(made.digests);
  if (made.seen != nullptr) real<Row::cuMemFreeHost>()(made.seen);
  made.hash = nullptr;
  made.module = nullptr;
  made.digests = 0;
  made.seen = nullptr;
}
void unmake(Streams& made) {
  for (CUstream stream : {made.out, made.in}) {
    if (stream != nullptr) real<Row::cuStreamDestroy_v2>()(stream);
  }
  for (CUevent event : made.events) {
    if (event != nullptr) real<Row::cuEventDestroy_v2>()(event);
  }
  unmake_hash(made);
}

// Whatever fails here: then chunks are copied whether they have changed or not, until it is tried
// again. What a full card has no room for comes first.
void make_hash(Streams& made) {
  CUfunction kernel = nullptr;
  void* seen = nullptr;
  constexpr std::size_t kBytes = kSlots * sizeof(Digest);
  bool done =
      real<Row::cuModuleLoadData>()(&made.module, nvs_chunk_hash_ptx) == CUDA_SUCCESS &&
      real<Row::cuModuleGetFunction>()(&kernel, made.module, "nvs_hash_chunk") == CUDA_SUCCESS &&
      real<Row::cuMemAlloc_v2>()(&made.digests, kBytes) == CUDA_SUCCESS &&
      real<Row::cuMemHostAlloc>()(&seen, kBytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS;
  made.seen = static_cast<Digest*>(seen);
  done = done && real<Row::cuStreamCreate>()(&made.hash, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
         make_events(made.hash_events);
  if (done) {
    made.kernel = kernel;
  } else {
    unmake_hash(made);
  }
}

// On a full card it is tried again and again, and must leave nothing behind.
bool make(CUcontext context, int gpu, Streams& made) {
  const InContext current(context);
  if (!current.is_set()) return false;
  made = {};
  constexpr unsigned kStreamFlags = CU_STREAM_NON_BLOCKING;
  const CUresult first = real<Row::cuStreamCreate>()(&made.out, kStreamFlags);
  faults::note(gpu, first);
  if (first != CUDA_SUCCESS) return false;
  if (real<Row::cuStreamCreate>()(&made.in, kStreamFlags) != CUDA_SUCCESS ||
      !make_events(made.events)) {
    unmake(made);
    return false;
  }
  make_hash(made);
  made.context = context;
  return true;
}

int find(CUcontext context) {
  const os::FutexGuard guard(table_lock);
  for (int i = 0; i < kStreamsMax; ++i) {
    if (table[i].context == context) return i;
  }
  return -1;
}

// Where it is; the context's older ones, if there are any; -1: there is no room.
int put(const Streams& made) {
  const os::FutexGuard guard(table_lock);
  int free = -1;
  for (int i = 0; i < kStreamsMax; ++i) {
    if (table[i].context == made.context) return i;
    if (table[i].context == nullptr && free < 0) free = i;
  }
  if (free >= 0) table[free] = made;
  return free;
}

// The context is in use by us, so it does not end meanwhile. Two threads may do it at once.
int find_or_make(CUcontext context, int gpu) {
  const int known = find(context);
  if (known >= 0) return known;
  Streams made;
  if (!make(context, gpu, made)) return -1;
  const int where = put(made);
  if (where < 0 || table[where].out != made.out) {
    const InContext current(context);
    if (current.is_set()) unmake(made);
  }
  return where;
}

// After something that failed: nothing of it is under way any more, unless the context is lost, and
// then nothing is.
void settle(int gpu, CUstream stream) {
  faults::note(gpu, real<Row::cuStreamSynchronize>()(stream));
}

constexpr std::size_t digest_bytes(int count) {
  return static_cast<std::size_t>(count) * sizeof(Digest);
}

bool hash(CUfunction kernel, const Lane::Stretch& chunk, CUdeviceptr digest, CUstream stream) {
  if (chunk.bytes % kWordBytes != 0) return false;
  std::uint64_t device = chunk.device;
  std::uint64_t words = chunk.bytes / kWordBytes;
  void* arguments[] = {&device, &words, &digest};
  return real<Row::cuLaunchKernel>()(kernel, kBlocks, 1, 1, kBlockThreads, 1, 1, 0, stream,
                                     arguments, nullptr) == CUDA_SUCCESS;
}

bool hash_all(const Streams& streams, CUdeviceptr digests, const Lane::Stretch* chunks, int count) {
  if (real<Row::cuMemsetD8Async>()(digests, 0, digest_bytes(count), streams.hash) != CUDA_SUCCESS) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (!hash(streams.kernel, chunks[i], digests + digest_bytes(i), streams.hash)) return false;
  }
  return true;
}

bool copy_pieces(Direction direction, std::uint64_t device, std::uint64_t host, std::uint64_t bytes,
                 CUstream stream) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t in_piece = kKnownPiece - (host + done) % kKnownPiece;
    const std::uint64_t count = bytes - done < in_piece ? bytes - done : in_piece;
    const std::uint64_t chunk = device + done;
    auto* const place = reinterpret_cast<void*>(host + done);
    const CUresult copied = direction == Direction::out
                                ? real<Row::cuMemcpyDtoHAsync_v2>()(place, chunk, count, stream)
                                : real<Row::cuMemcpyHtoDAsync_v2>()(chunk, place, count, stream);
    if (copied != CUDA_SUCCESS) return false;
    done += count;
  }
  return true;
}

}  // namespace

bool Lane::take(CUcontext context, int gpu) {
  index_ = contexts::take_this(context, gpu, contexts::Use::working);
  if (index_ < 0) return false;
  gpu_ = gpu;
  streams_ = find_or_make(context, gpu);
  if (streams_ >= 0) return true;
  give_back();
  return false;
}

bool Lane::take_for(CUcontext context, int gpu) {
  return take(contexts::is_known(context) ? context : contexts::primary_of(gpu), gpu);
}

bool Lane::take_any(int gpu) {
  if (take(contexts::primary_of(gpu), gpu)) return true;
  for (int i = 0; i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    if (!contexts::take(i, gpu, context)) continue;
    const bool is_taken = take(context, gpu);
    contexts::give_back(i);
    if (is_taken) return true;
  }
  return false;
}

void Lane::give_back() {
  if (index_ >= 0) contexts::give_back(index_, contexts::Use::working);
  index_ = -1;
}

bool Lane::copy(Direction direction, int slot, std::uint64_t device, std::uint64_t host,
                std::uint64_t bytes) const {
  const Streams& streams = table[streams_];
  const InContext current(streams.context);
  if (!current.is_set()) return false;
  const CUstream stream = direction == Direction::out ? streams.out : streams.in;
  const bool is_begun = copy_pieces(direction, device, host, bytes, stream) &&
                        real<Row::cuEventRecord>()(streams.events[slot], stream) == CUDA_SUCCESS;
  // Nothing of it may be under way when both places serve others.
  if (!is_begun) settle(gpu_, stream);
  return is_begun;
}

bool Lane::set_to_zero(int slot, std::uint64_t device, std::uint64_t bytes) const {
  const Streams& streams = table[streams_];
  const InContext current(streams.context);
  if (!current.is_set()) return false;
  const bool is_begun =
      real<Row::cuMemsetD8Async>()(device, 0, bytes, streams.in) == CUDA_SUCCESS &&
      real<Row::cuEventRecord>()(streams.events[slot], streams.in) == CUDA_SUCCESS;
  if (!is_begun) settle(gpu_, streams.in);
  return is_begun;
}

bool Lane::is_done(int slot) const {
  return real<Row::cuEventQuery>()(table[streams_].events[slot]) != CUDA_ERROR_NOT_READY;
}

bool Lane::wait(int slot) const {
  const Streams& streams = table[streams_];
  if (real<Row::cuEventSynchronize>()(streams.events[slot]) == CUDA_SUCCESS) return true;
  // As above: if the context is not broken, it may be under way all the same.
  const InContext current(streams.context);
  for (CUstream stream : {streams.out, streams.in}) {
    if (current.is_set()) settle(gpu_, stream);
  }
  return false;
}

bool Lane::can_hash() const { return table[streams_].kernel != nullptr; }

// Nobody else looks at these parts of a context that is taken.
void Lane::learn_to_hash() const {
  Streams& streams = table[streams_];
  const InContext current(streams.context);
  if (current.is_set()) make_hash(streams);
}

bool Lane::begin_hashes(int first_slot, const Stretch* chunks, int count) const {
  const Streams& streams = table[streams_];
  const InContext current(streams.context);
  if (!current.is_set() || !can_hash()) return false;
  const CUdeviceptr digests = streams.digests + digest_bytes(first_slot);
  const bool is_begun =
      hash_all(streams, digests, chunks, count) &&
      real<Row::cuMemcpyDtoHAsync_v2>()(&streams.seen[first_slot], digests, digest_bytes(count),
                                        streams.hash) == CUDA_SUCCESS &&
      real<Row::cuEventRecord>()(streams.hash_events[first_slot], streams.hash) == CUDA_SUCCESS;
  // Nobody may read what is about to go.
  if (!is_begun) settle(gpu_, streams.hash);
  return is_begun;
}

bool Lane::end_hash(int first_slot, int slot, Content& content) const {
  const Streams& streams = table[streams_];
  if (real<Row::cuEventSynchronize>()(streams.hash_events[first_slot]) != CUDA_SUCCESS) {
    settle(gpu_, streams.hash);  // it may still read what is about to go
    return false;
  }
  const Digest& digest = streams.seen[slot];
  content = {{digest.low, digest.high}, digest.not_zero == 0};
  return true;
}

void prepare_lanes(int gpu) {
  for (int i = 0; i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    if (!contexts::take(i, gpu, context, contexts::Use::working)) continue;
    find_or_make(context, gpu);
    contexts::give_back(i, contexts::Use::working);
  }
}

void forget_lane(CUcontext context) {
  const os::FutexGuard guard(table_lock);
  for (Streams& streams : table) {
    if (streams.context == context) streams = {};
  }
}

void forget_lanes_in_child() {
  table_lock.reset();
  for (Streams& streams : table) streams = {};
}

}  // namespace nvs::interposer::swap
