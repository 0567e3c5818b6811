// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/created.h"

#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/views.h"
#include "interposer/memory/unified/use.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Created;

// Of a kind that we can make again and again.
bool is_plain(const CUmemAllocationProp& prop) {
  return prop.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop.win32HandleMetaData == nullptr &&
         prop.allocFlags.compressionType == 0 && prop.allocFlags.usage == 0;
}

// With a context of the device current, so that there is one to move it in.
bool is_for_us(const CUmemAllocationProp& prop) {
  if (!is_plain(prop) || !session::has_any_daemon()) return false;
  int gpu = 0;
  return memory::current_device() == prop.location.id && !unified::is_for_us(gpu);
}

}  // namespace

Got create(std::uint64_t bytes, const CUmemAllocationProp& prop, std::uint64_t& token) {
  const libc::NoCancel no_cancel;
  return is_for_us(prop) ? allocate_created(bytes, prop, token) : Got::native;
}

std::uint64_t add_created(std::uint64_t home, const vmm::Split& split,
                          const CUmemAllocationProp& prop) {
  const os::FutexGuard guard(view_lock);
  const Created* created = view_table.create(home, split, prop);
  count_created();
  return created != nullptr ? created->token : 0;
}

void drop_created(std::uint64_t token) {
  const os::FutexGuard guard(view_lock);
  Created* created = view_table.find(token);
  if (created != nullptr) {
    view_table.take_out(created);
    view_table.drop(created);
  }
  count_created();
}

// In the same moment in which nobody refers to it any more, so that nobody else can end it too.
void take_if_over(Created* created, Created*& over) {
  if (!created->is_over()) return;
  view_table.take_out(created);
  count_created();
  created->next_over = over;
  over = created;
}

// Nobody can name them any more: what of their chunks is on the move finds no view.
void end_all(Created* over) {
  while (over != nullptr) {
    const Created one = *over;
    {
      const os::FutexGuard guard(view_lock);
      view_table.drop(over);
    }
    over = one.next_over;
    memory::books().take(memory::Space::vmm_handle, one.token);
    if (one.solid != 0) {
      real<Row::cuMemRelease>()(one.solid);
    } else {
      const os::FutexGuard guard(lock);
      end_allocation(one.home.base);
    }
  }
}

CUresult prop_of(std::uint64_t token, CUmemAllocationProp* prop) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  const Created* created = view_table.find(token);
  if (prop == nullptr || created == nullptr || created->references == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *prop = created->prop;
  return CUDA_SUCCESS;
}

bool retain_at(std::uint64_t address, std::uint64_t& token) {
  if (!has_created()) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(view_lock);
  const vmm::View* view = view_table.view_at(address);
  if (view == nullptr) return false;
  ++view->created->references;
  token = view->created->token;
  return true;
}

CUresult release(std::uint64_t token) {
  const libc::NoCancel no_cancel;
  Created* over = nullptr;
  {
    const os::FutexGuard guard(view_lock);
    Created* created = view_table.find(token);
    if (created == nullptr || created->references == 0) return CUDA_ERROR_INVALID_VALUE;
    --created->references;
    take_if_over(created, over);
  }
  end_all(over);
  return CUDA_SUCCESS;
}

}  // namespace nvs::interposer::swap
