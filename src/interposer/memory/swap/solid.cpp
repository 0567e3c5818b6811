// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/solid.h"

#include <bit>

#include "interposer/exports/in_context.h"
#include "interposer/gate/inside.h"
#include "interposer/memory/books.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/views.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/contexts.h"
#include "interposer/session/hold.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Created;
using vmm::View;

constinit os::FutexLock making;  // one thread at a time, and it comes to the gate with it

// Calls `work()` in contexts of a GPU until it says that this is enough, or fails.
template <class Work>
CUresult in_contexts_of(int gpu, Work work) {
  CUresult result = CUDA_ERROR_INVALID_CONTEXT;
  bool goes_on = true;
  for (int i = 0; goes_on && i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    if (!contexts::take(i, gpu, context)) continue;
    {
      const InContext current(context);
      if (current.is_set()) result = work(goes_on);
    }
    contexts::give_back(i);
    goes_on = goes_on && result == CUDA_SUCCESS;
  }
  return result;
}

// Of every GPU that reaches the memory. One that has no context has no work either.
CUresult wait_for_work(int device) {
  for (std::uint32_t left = reached_by(device); left != 0; left &= left - 1) {
    const CUresult waited = in_contexts_of(std::countr_zero(left),
                                           [](bool&) { return real<Row::cuCtxSynchronize>()(); });
    if (waited != CUDA_SUCCESS && waited != CUDA_ERROR_INVALID_CONTEXT) return waited;
  }
  return CUDA_SUCCESS;
}

CUresult copy_on_device(int device, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  return in_contexts_of(device, [&](bool& goes_on) {
    goes_on = false;
    const CUresult copied = real<Row::cuMemcpyDtoD_v2>()(to, from, bytes);
    return copied == CUDA_SUCCESS ? real<Row::cuCtxSynchronize>()() : copied;
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

void count_as_fixed(std::uint64_t token, std::uint64_t bytes, int device) {
  memory::Books& books = memory::books();
  books.take(memory::Space::vmm_handle, token);
  books.allocated({.space = memory::Space::vmm_handle,
                   .kind = memory::MemoryKind::vmm,
                   .id = token,
                   .bytes = bytes,
                   .owner = memory::device_owner(device)},
                  device);
}

// Nobody may use the views while they are exchanged.
CUresult make_one_handle(std::uint64_t token, int gpu, CUmemGenericAllocationHandle& handle) {
  const session::Hold hold(reached_by(gpu));
  if (!hold.is_alone()) return CUDA_ERROR_UNKNOWN;
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
    const CUresult copied = copy_to_one_handle(*created, handle);
    if (copied != CUDA_SUCCESS) return copied;
    home = created->home.base;
    bytes = created->split.bytes;
    view_table.leave_home(created, handle);
  }
  count_as_fixed(token, bytes, gpu);
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
  return gate::inside([&] {
    return is_one_chunk ? pin_one_chunk(token, home, handle) : make_one_handle(token, gpu, handle);
  });
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

CUresult make_solid_at(std::uint64_t address) {
  std::uint64_t token = 0;
  if (has_created()) {
    const libc::NoCancel no_cancel;
    const os::FutexGuard guard(view_lock);
    const View* view = view_table.view_at(address);
    if (view != nullptr) token = view->created->token;
  }
  CUmemGenericAllocationHandle handle = 0;
  return token != 0 ? make_solid(token, handle) : CUDA_SUCCESS;
}

void forget_solid_in_child() { making.reset(); }

}  // namespace nvs::interposer::swap
