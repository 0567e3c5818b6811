// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/view_calls.h"

#include "interposer/exports/real.h"
#include "interposer/gate/inside.h"
#include "interposer/memory/books.h"
#include "interposer/memory/swap/created.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/views.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Created;
using vmm::Range;
using vmm::View;

// Where a call is made. Outside the gate pages may be away, and other GPUs may be running.
enum class Where : std::uint8_t { outside, inside };
enum class Tried : std::uint8_t { done, only_inside };

// Both ways, if need be. Pages that lack where none may lack: nothing can be done.
template <class Try>
CUresult try_both(Try attempt) {
  CUresult result = CUDA_ERROR_UNKNOWN;
  if (attempt(Where::outside, result) == Tried::done) return result;
  return gate::inside([&] {
    if (attempt(Where::inside, result) == Tried::done) return result;
    return CUDA_ERROR_UNKNOWN;
  });
}

// What the driver says of the addresses that it reserved for the program.
void learn_reserved(View& view) {
  CUdeviceptr begin = view.range.begin;
  std::size_t bytes = view.range.bytes;
  const auto ask = real<Row::cuPointerGetAttribute>();
  const bool is_told =
      ask != nullptr &&
      ask(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, view.range.begin) == CUDA_SUCCESS &&
      ask(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, view.range.begin) == CUDA_SUCCESS;
  view.reserved = is_told ? Range{begin, bytes} : view.range;
}

// Measured on an H200: a handle that was released can be mapped for as long as it is mapped
// anywhere.
Tried try_to_map(const Range& range, std::uint64_t token, CUresult& result) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  Created* created = view_table.find(token);
  result = CUDA_ERROR_INVALID_VALUE;
  if (created == nullptr || created->is_over()) return Tried::done;
  if (range.bytes != created->split.bytes) {
    result = CUDA_ERROR_NOT_SUPPORTED;
    return Tried::done;
  }
  if (view_table.first_in(range) != nullptr) return Tried::done;
  if (!created->is_all_there()) return Tried::only_inside;
  View* view = view_table.add_view(created, range);
  result = view != nullptr ? show_all(*view) : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    learn_reserved(*view);
    created->was_mapped = true;
  } else if (view != nullptr) {
    view_table.remove_view(view);
  }
  return Tried::done;
}

bool is_known_place(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
         location.id < vmm::kViewDevices;
}

struct Wishes {
  const CUmemAccessDesc* first;
  std::size_t count;
  const CUmemAccessDesc* begin() const { return first; }
  const CUmemAccessDesc* end() const { return first + count; }
};

bool can_all_be_kept(const Wishes& wishes) {
  for (const CUmemAccessDesc& wish : wishes) {
    if (!is_known_place(wish.location)) return false;
  }
  return true;
}

// Whether a GPU would reach the memory that could not until now: it may be running while ours is
// about to go.
bool is_new_reach(const Created& created, const Wishes& wishes) {
  for (const CUmemAccessDesc& wish : wishes) {
    const bool is_known = (reached_by(created.device()) & (1U << wish.location.id)) != 0;
    if (wish.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && !is_known) return true;
  }
  return false;
}

void note_access(View& view, const Wishes& wishes) {
  for (const CUmemAccessDesc& wish : wishes) {
    view.access[wish.location.id] = static_cast<std::uint8_t>(wish.flags);
  }
}

Tried try_to_allow(const Range& range, const Wishes& wishes, Where where, CUresult& result) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  result = CUDA_ERROR_INVALID_VALUE;
  if (!view_table.is_whole(range) || !can_all_be_kept(wishes)) return Tried::done;
  for (View* view = view_table.first_in(range); view != nullptr;
       view = view_table.next_in(range, view)) {
    const Created& created = *view->created;
    const bool is_new = is_new_reach(created, wishes);
    if (!created.is_all_there() || (is_new && where == Where::outside)) return Tried::only_inside;
    for (const CUmemAccessDesc& wish : wishes) {
      if (is_new) view_reaches(created.device(), wish.location.id);
    }
  }
  result = real<Row::cuMemSetAccess>()(range.begin, range.bytes, wishes.first, wishes.count);
  if (result != CUDA_SUCCESS) return Tried::done;
  for (View* view = view_table.first_in(range); view != nullptr;
       view = view_table.next_in(range, view)) {
    note_access(*view, wishes);
  }
  return Tried::done;
}

// With the lock held. Those that nobody refers to any more, in a row.
Created* remove_views(const Range& range) {
  Created* over = nullptr;
  for (View* view = view_table.first_in(range); view != nullptr;
       view = view_table.first_in(range)) {
    Created* created = view->created;
    view_table.remove_view(view);
    take_if_over(created, over);
  }
  return over;
}

}  // namespace

bool has_views(const Range& range) {
  if (!has_created()) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  return view_table.first_in(range) != nullptr;
}

bool find_view(std::uint64_t address, Named& named) {
  if (!has_created()) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  const View* view = view_table.view_at(address);
  if (view == nullptr || view->created->solid != 0) return false;
  const Created& created = *view->created;
  named.allocated = {view->range.begin, view->range.bytes, 0, created.device()};
  named.mapping_base = view->range.begin;
  named.mapping_bytes = view->range.bytes;
  named.is_pinned = created.is_pinned;
  named.is_view = true;
  named.view = {view->reserved, view->number,
                static_cast<std::uint64_t>(created.prop.requestedHandleTypes),
                view->access[created.device()]};
  return true;
}

CUresult map_view(const Range& range, std::uint64_t offset, std::uint64_t token,
                  unsigned long long flags) {
  if (flags != 0 || range.bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (offset != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return try_both([&](Where, CUresult& result) { return try_to_map(range, token, result); });
}

// One call for all of it: where pages are away there are holes, which the driver does not mind.
CUresult unmap_range(const Range& range) {
  const libc::NoCancel no_cancel;
  const memory::Birth before = memory::books().now();
  Created* over = nullptr;
  {
    const os::FutexGuard guard(view_lock);
    if (!view_table.is_whole(range)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = real<Row::cuMemUnmap>()(range.begin, range.bytes);
    if (result != CUDA_SUCCESS) return result;
    over = remove_views(range);
  }
  memory::books().unmapped(range.begin, range.bytes, before);
  end_all(over);
  return CUDA_SUCCESS;
}

CUresult allow_range(const Range& range, const CUmemAccessDesc* wanted, std::size_t count) {
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const Wishes wishes{wanted, count};
  return try_both(
      [&](Where where, CUresult& result) { return try_to_allow(range, wishes, where, result); });
}

bool access_at(std::uint64_t address, const CUmemLocation* location, unsigned long long* flags,
               CUresult& result) {
  if (!has_created()) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  const View* view = view_table.view_at(address);
  if (view == nullptr || view->created->solid != 0) return false;
  int devices = 0;
  result = CUDA_ERROR_INVALID_VALUE;
  if (flags == nullptr || location == nullptr) return true;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return true;
  result = real<Row::cuDeviceGetCount>()(&devices);
  if (result != CUDA_SUCCESS) return true;
  result = CUDA_ERROR_INVALID_DEVICE;
  if (!is_known_place(*location) || location->id >= devices) return true;
  *flags = view->access[location->id];
  result = CUDA_SUCCESS;
  return true;
}

}  // namespace nvs::interposer::swap
