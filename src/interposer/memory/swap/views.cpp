// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/views.h"

#include <atomic>

#include "interposer/exports/real.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::swap {

constinit os::FutexLock view_lock;
constinit vmm::ViewTable view_table;

namespace {

using vmm::Created;
using vmm::View;

constinit std::atomic<std::size_t> created_count{0};

void hide_pages(const View& view, std::uint64_t offset, std::uint64_t bytes) {
  real<Row::cuMemUnmap>()(view.range.begin + offset, bytes);
}

CUresult allow(const View& view, std::uint64_t address, std::uint64_t bytes) {
  CUmemAccessDesc access[vmm::kViewDevices];
  std::size_t users = 0;
  for (int device = 0; device < vmm::kViewDevices; ++device) {
    if (view.access[device] == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    access[users++] = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                       static_cast<CUmemAccess_flags>(view.access[device])};
  }
  if (users == 0) return CUDA_SUCCESS;
  return real<Row::cuMemSetAccess>()(address, bytes, access, users);
}

}  // namespace

bool has_created() { return created_count.load(std::memory_order_acquire) != 0; }

void count_created() { created_count.store(view_table.size(), std::memory_order_release); }

CUresult show_pages(const View& view, std::uint64_t offset, std::uint64_t bytes,
                    std::uint64_t handle) {
  const std::uint64_t address = view.range.begin + offset;
  const CUresult mapped = real<Row::cuMemMap>()(address, bytes, 0, handle, 0);
  if (mapped != CUDA_SUCCESS) return mapped;
  const CUresult allowed = allow(view, address, bytes);
  if (allowed != CUDA_SUCCESS) hide_pages(view, offset, bytes);
  return allowed;
}

CUresult show_all(const View& view) {
  const Created& created = *view.created;
  if (created.solid != 0) return show_pages(view, 0, view.range.bytes, created.solid);
  const vmm::Split& split = created.split;
  for (std::uint32_t i = 0; i < split.chunks; ++i) {
    if (created.pages[i] == 0) continue;
    const CUresult shown =
        show_pages(view, split.offset_of(i), split.bytes_of(i), created.pages[i]);
    if (shown == CUDA_SUCCESS) continue;
    while (i-- > 0) {
      if (created.pages[i] != 0) hide_pages(view, split.offset_of(i), split.bytes_of(i));
    }
    return shown;
  }
  return CUDA_SUCCESS;
}

void adopt_prop(std::uint64_t home, CUmemAllocationProp& prop) {
  if (!has_created()) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  const Created* created = view_table.at_home(home);
  if (created == nullptr) return;
  prop = created->prop;
  // Such pages can be registered with another device without a call of ours, and these move.
  prop.allocFlags.gpuDirectRDMACapable = 0;
}

CUresult pages_came(std::uint64_t home, std::uint64_t bytes, std::uint64_t handle) {
  if (!has_created()) return CUDA_SUCCESS;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  Created* created = view_table.at_home(home);
  if (created == nullptr) return CUDA_SUCCESS;
  const std::uint64_t offset = home - created->home.base;
  for (const View* view = created->views; view != nullptr; view = view->next) {
    const CUresult shown = show_pages(*view, offset, bytes, handle);
    if (shown == CUDA_SUCCESS) continue;
    for (const View* done = created->views; done != view; done = done->next) {
      hide_pages(*done, offset, bytes);
    }
    return shown;
  }
  created->pages[created->split.chunk_at(offset)] = handle;
  return CUDA_SUCCESS;
}

void pages_go(std::uint64_t home, std::uint64_t bytes) {
  if (!has_created()) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  Created* created = view_table.at_home(home);
  if (created == nullptr) return;
  const std::uint64_t offset = home - created->home.base;
  std::uint64_t& pages = created->pages[created->split.chunk_at(offset)];
  if (pages == 0) return;
  pages = 0;
  for (const View* view = created->views; view != nullptr; view = view->next) {
    hide_pages(*view, offset, bytes);
  }
}

void forget_views_in_child() {
  view_lock.reset();
  view_table.forget();
  created_count.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
