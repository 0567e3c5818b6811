// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/solid.h"

#include <bit>

#include "interposer/exports/in_context.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/gate/inside.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/created.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/views.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/hold.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Created;
using vmm::View;

constinit os::FutexLock making;  // one thread at a time, and it comes to the gate with it

// Something stands in the way that will be over soon: a capture, which synchronising would break,
// or a call of another thread. No program sees it.
constexpr CUresult kNotNow = CUDA_ERROR_NOT_READY;
constexpr std::int64_t kTryAgain_ns = 2'000'000;
constexpr std::int64_t kPatience_ns = 5'000'000'000;

// Calls `work()` in contexts of a GPU until it says that this is enough, or fails.
template <class Work>
CUresult in_contexts_of(int gpu, Work work) {
  CUresult result = CUDA_ERROR_INVALID_CONTEXT;
  bool goes_on = true;
  for (int i = 0; goes_on && i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    if (!contexts::take(i, gpu, context)) continue;
    bool is_set = false;
    {
      const InContext current(context);
      is_set = current.is_set();
      if (is_set) result = work(goes_on);
    }
    contexts::give_back(i);
    goes_on = goes_on && (!is_set || result == CUDA_SUCCESS);
  }
  return result;
}

CUresult wait_for_work_on(int gpu) {
  if (!contexts::knows_all(gpu) || contexts::is_any_ending(gpu)) return kNotNow;
  if (!captures::begin_synchronise(gpu)) return kNotNow;
  const CUresult waited =
      in_contexts_of(gpu, [](bool&) { return real<Row::cuCtxSynchronize>()(); });
  captures::end_synchronise(gpu);
  // Without a context there is no work.
  return waited == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : waited;
}

// Of every GPU that may be at work on the memory.
CUresult wait_for_work(int device) {
  CUresult result = CUDA_SUCCESS;
  for (std::uint32_t left = touched_by(device); left != 0; left &= left - 1) {
    result = wait_for_work_on(std::countr_zero(left));
    if (result != CUDA_SUCCESS) break;
  }
  return result;
}

// In a stream of its own: one that waits for others would break captures.
CUresult copy_on_device(int device, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  return in_contexts_of(device, [&](bool& goes_on) {
    goes_on = false;
    CUstream stream = nullptr;
    CUresult result = real<Row::cuStreamCreate>()(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return result;
    result = real<Row::cuMemcpyDtoDAsync_v2>()(to, from, bytes, stream);
    const CUresult ended = real<Row::cuStreamSynchronize>()(stream);
    real<Row::cuStreamDestroy_v2>()(stream);
    return result == CUDA_SUCCESS ? ended : result;
  });
}

// Into memory of the driver's that is mapped nowhere yet.
CUresult copy_into(std::uint64_t handle, const Created& created) {
  const std::uint64_t bytes = created.split.bytes;
  const std::uint64_t place = reserve_addresses(bytes);
  if (place == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = real<Row::cuMemMap>()(place, bytes, 0, handle, 0);
  if (result == CUDA_SUCCESS) {
    const CUmemAccessDesc access{created.prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    result = real<Row::cuMemSetAccess>()(place, bytes, &access, 1);
    if (result == CUDA_SUCCESS) {
      result = copy_on_device(created.device(), place, created.home.base, bytes);
    }
    real<Row::cuMemUnmap>()(place, bytes);
  }
  give_addresses(place, bytes);
  return result;
}

// The views show the one handle in place of the chunks. If one cannot, all are as they were.
CUresult exchange_views(Created& created, std::uint64_t handle) {
  for (View* view = created.views; view != nullptr; view = view->next) {
    real<Row::cuMemUnmap>()(view->range.begin, view->range.bytes);
    const CUresult shown = show_pages(*view, 0, view->range.bytes, handle);
    if (shown == CUDA_SUCCESS) continue;
    show_all(*view);
    for (View* done = created.views; done != view; done = done->next) {
      real<Row::cuMemUnmap>()(done->range.begin, done->range.bytes);
      show_all(*done);
    }
    return shown;
  }
  return CUDA_SUCCESS;
}

// With the lock held, inside the gate.
CUresult copy_to_one_handle(Created& created, CUmemGenericAllocationHandle& handle) {
  const CUresult made = real<Row::cuMemCreate>()(&handle, created.split.bytes, &created.prop, 0);
  if (made != CUDA_SUCCESS) return made;
  CUresult result = created.was_mapped ? copy_into(handle, created) : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) result = exchange_views(created, handle);
  if (result != CUDA_SUCCESS) real<Row::cuMemRelease>()(handle);
  return result;
}

// In place of what it was, so that it counts all the time.
void count_as_fixed(std::uint64_t token, std::uint64_t bytes, int device) {
  memory::count_handle(token, memory::MemoryKind::vmm, bytes, device);
}

// Calls that are captured pass a closed gate. None is inside, and from then on none comes in that
// names memory.
class Exchange {
 public:
  explicit Exchange(int gpu) : gpu_(gpu) {
    const os::FutexGuard guard(lock);
    if (captures::is_any() || gate::is_captured_inside()) return;
    may_be_ = rooms[gpu_].is_exchanged = true;
  }
  ~Exchange() {
    if (!may_be_) return;
    const os::FutexGuard guard(lock);
    rooms[gpu_].is_exchanged = false;
    changed(gpu_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  bool may_be() const { return may_be_; }

 private:
  int gpu_;
  bool may_be_ = false;
};

// Nobody may use the views while they are exchanged.
CUresult make_one_handle(std::uint64_t token, int gpu, CUmemGenericAllocationHandle& handle) {
  const RelaxedCapture relaxed;
  const session::Hold hold(touched_by(gpu));
  if (!hold.is_alone()) return kNotNow;
  const CUresult waited = wait_for_work(gpu);
  if (waited != CUDA_SUCCESS) return waited;
  std::uint64_t home = 0;
  std::uint64_t bytes = 0;
  {
    const os::FutexGuard guard(view_lock);
    Created* created = view_table.find(token);
    if (created == nullptr || created->is_over()) return CUDA_ERROR_INVALID_VALUE;
    handle = created->solid;
    if (handle != 0) return CUDA_SUCCESS;
    if (!created->is_all_there()) return CUDA_ERROR_UNKNOWN;
    const Exchange exchange(gpu);
    if (!exchange.may_be()) return kNotNow;
    const CUresult copied = copy_to_one_handle(*created, handle);
    if (copied != CUDA_SUCCESS) return copied;
    home = created->home.base;
    bytes = created->split.bytes;
    view_table.leave_home(created, handle);
    ++created->references;  // it must not end before it is counted
  }
  count_as_fixed(token, bytes, gpu);
  release(token);
  {
    const os::FutexGuard guard(lock);
    end_allocation(home);
  }
  session::tell_holds(gpu);
  return CUDA_SUCCESS;
}

// One chunk has one handle already, of the properties that the program asked for.
CUresult pin_one_chunk(std::uint64_t token, std::uint64_t home,
                       CUmemGenericAllocationHandle& handle) {
  PinnedChunk chunk;
  if (!pin(home) || !pinned_chunk(home, chunk)) return CUDA_ERROR_UNKNOWN;
  const os::FutexGuard guard(view_lock);
  Created* created = view_table.find(token);
  if (created == nullptr) return CUDA_ERROR_INVALID_VALUE;
  created->is_pinned = true;
  handle = chunk.handle;
  return CUDA_SUCCESS;
}

CUresult make_solid(std::uint64_t token, CUmemGenericAllocationHandle& handle) {
  std::uint64_t home = 0;
  int gpu = 0;
  bool is_one_chunk = false;
  {
    const libc::NoCancel no_cancel;
    const os::FutexGuard guard(view_lock);
    const Created* created = view_table.find(token);
    if (created == nullptr || created->is_over()) return CUDA_ERROR_INVALID_VALUE;
    handle = created->solid;
    if (handle != 0) return CUDA_SUCCESS;
    home = created->home.base;
    gpu = created->device();
    is_one_chunk = created->split.chunks == 1;
  }
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(making);
  const std::int64_t end_ns = os::monotonic_ns() + kPatience_ns;
  for (;;) {
    const CUresult result = gate::inside([&] {
      return is_one_chunk ? pin_one_chunk(token, home, handle)
                          : make_one_handle(token, gpu, handle);
    });
    if (result != kNotNow) return result;
    if (os::monotonic_ns() >= end_ns) return CUDA_ERROR_UNKNOWN;
    os::sleep_ns(kTryAgain_ns);
  }
}

}  // namespace

CUresult solid_handle(std::uint64_t token, CUmemGenericAllocationHandle& handle) {
  {
    const libc::NoCancel no_cancel;
    const os::FutexGuard guard(view_lock);
    const Created* created = view_table.find(token);
    if (created == nullptr || created->references == 0) return CUDA_ERROR_INVALID_VALUE;
  }
  return make_solid(token, handle);
}

CUresult make_solid_in(const vmm::Range& range) {
  const std::uint64_t end = range.begin + range.bytes;
  for (std::uint64_t at = range.begin; has_created() && at < end;) {
    std::uint64_t token = 0;
    {
      const libc::NoCancel no_cancel;
      const os::FutexGuard guard(view_lock);
      const View* view = view_table.first_in({at, end - at});
      if (view == nullptr) break;
      token = view->created->token;
      at = view->range.begin + view->range.bytes;
    }
    CUmemGenericAllocationHandle handle = 0;
    const CUresult made = make_solid(token, handle);
    if (made != CUDA_SUCCESS) return made;
  }
  return CUDA_SUCCESS;
}

void forget_solid_in_child() { making.reset(); }

}  // namespace nvs::interposer::swap
