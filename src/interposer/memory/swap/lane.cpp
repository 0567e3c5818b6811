// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/lane.h"

#include "interposer/exports/real.h"
#include "interposer/session/contexts.h"
#include "os/futex_lock.h"

namespace nvs::interposer::swap {
namespace {

struct Streams {
  CUcontext context;  // null: free
  CUstream out;
  CUstream in;
  CUevent events[kInFlight];
};
constexpr int kStreamsMax = 64;

constinit os::FutexLock table_lock;  // guards which context an entry belongs to
constinit Streams table[kStreamsMax] = {};

class Current {
 public:
  explicit Current(CUcontext context) {
    is_set_ = real<Row::cuCtxPushCurrent_v2>()(context) == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext popped = nullptr;
    if (is_set_) real<Row::cuCtxPopCurrent_v2>()(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  bool is_set() const { return is_set_; }

 private:
  bool is_set_ = false;
};

bool make(CUcontext context, Streams& made) {
  const Current current(context);
  if (!current.is_set()) return false;
  made = {};
  constexpr unsigned kStreamFlags = CU_STREAM_NON_BLOCKING;
  constexpr unsigned kEventFlags = CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC;
  if (real<Row::cuStreamCreate>()(&made.out, kStreamFlags) != CUDA_SUCCESS) return false;
  if (real<Row::cuStreamCreate>()(&made.in, kStreamFlags) != CUDA_SUCCESS) return false;
  for (CUevent& event : made.events) {
    if (real<Row::cuEventCreate>()(&event, kEventFlags) != CUDA_SUCCESS) return false;
  }
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

// The context is in use by us, so it does not end meanwhile. Two threads may do it at once.
int find_or_make(CUcontext context) {
  const int known = find(context);
  if (known >= 0) return known;
  Streams made;
  if (!make(context, made)) return -1;
  const os::FutexGuard guard(table_lock);
  int free = -1;
  for (int i = 0; i < kStreamsMax; ++i) {
    if (table[i].context == context) return i;
    if (table[i].context == nullptr && free < 0) free = i;
  }
  if (free >= 0) table[free] = made;
  return free;
}

}  // namespace

bool Lane::take(CUcontext context, int gpu) {
  index_ = contexts::take_this(context, gpu);
  if (index_ < 0) return false;
  streams_ = find_or_make(context);
  if (streams_ >= 0) return true;
  give_back();
  return false;
}

void Lane::give_back() {
  if (index_ >= 0) contexts::give_back(index_);
  index_ = -1;
}

bool Lane::copy(Direction direction, int slot, std::uint64_t device, std::uint64_t host,
                std::uint64_t bytes) const {
  const Streams& streams = table[streams_];
  const Current current(streams.context);
  if (!current.is_set()) return false;
  auto* place = reinterpret_cast<void*>(host);
  const bool is_out = direction == Direction::out;
  const CUstream stream = is_out ? streams.out : streams.in;
  const CUresult copied = is_out ? real<Row::cuMemcpyDtoHAsync_v2>()(place, device, bytes, stream)
                                 : real<Row::cuMemcpyHtoDAsync_v2>()(device, place, bytes, stream);
  if (copied != CUDA_SUCCESS) return false;
  return real<Row::cuEventRecord>()(streams.events[slot], stream) == CUDA_SUCCESS;
}

bool Lane::set_to_zero(int slot, std::uint64_t device, std::uint64_t bytes) const {
  const Streams& streams = table[streams_];
  const Current current(streams.context);
  if (!current.is_set()) return false;
  const CUresult set = real<Row::cuMemsetD8Async>()(device, 0, bytes, streams.in);
  if (set != CUDA_SUCCESS) return false;
  return real<Row::cuEventRecord>()(streams.events[slot], streams.in) == CUDA_SUCCESS;
}

bool Lane::wait(int slot) const {
  const Streams& streams = table[streams_];
  return real<Row::cuEventSynchronize>()(streams.events[slot]) == CUDA_SUCCESS;
}

void prepare_lanes(int gpu) {
  for (int i = 0; i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    if (!contexts::take(i, gpu, context)) continue;
    find_or_make(context);
    contexts::give_back(i);
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
