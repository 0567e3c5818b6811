// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/unified/allocate.h"

#include <atomic>

#include "interposer/memory/fixed.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/unified/bring.h"
#include "interposer/memory/unified/claim.h"
#include "interposer/memory/unified/use.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::unified {
namespace {

using memory::MemoryKind;
using memory::Space;
using swap::Got;
using swap::Room;
using swap::rooms;

// Somebody who waits for room looks again at least so often: the daemon may be gone.
constexpr std::int64_t kLookAgain_ns = 50'000'000;

constinit std::atomic<bool> any{false};

bool is_too_much(int gpu, std::uint64_t bytes) {
  const std::uint64_t has = memory::unified_on(gpu) + rooms[gpu].backing + rooms[gpu].asked;
  const std::uint64_t all = most(gpu);
  return has > all || bytes > all - has;
}

// Reserves room for what `bytes` more would count as; false if there are not so many to be had.
bool take_room(int gpu, std::uint64_t bytes, bool is_shared, std::uint64_t& taken) {
  taken = 0;
  for (;;) {
    std::uint32_t seen = 0;
    {
      const os::FutexGuard guard(swap::lock);
      Room& room = rooms[gpu];
      seen = room.changes.load(std::memory_order_relaxed);
      room.asked -= taken;
      taken = 0;
      if (is_too_much(gpu, bytes) || room.is_faulted) return false;
      if (!is_shared) return true;
      taken = growth(gpu, bytes);
      if (swap::may_have_more(gpu) >= taken) {
        room.backing += taken;
        return true;
      }
      room.asked += taken;
    }
    session::tell_holds(gpu);
    swap::wait_for_change(gpu, seen, kLookAgain_ns);
  }
}

// The room was taken for this. The books hear of it in the same moment, so that nobody sees it as
// away or twice.
void settle(int gpu, std::uint64_t taken, const memory::Allocation& made) {
  const os::FutexGuard guard(swap::lock);
  rooms[gpu].backing -= taken;
  rooms[gpu].brought += taken;
  memory::books().allocated(made, gpu);
  swap::changed(gpu);
}

void give_room(int gpu, std::uint64_t taken) {
  const os::FutexGuard guard(swap::lock);
  rooms[gpu].backing -= taken;
  swap::changed(gpu);
}

// So that pages come back to the GPU, whoever pushed them out.
void prefer(int gpu, CUdeviceptr address, std::uint64_t bytes) {
  constexpr CUmem_advise kAdvice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
  if (const auto advise = real<Row::cuMemAdvise>()) {
    advise(address, bytes, kAdvice, gpu);
  } else if (const auto newer = real<Row::cuMemAdvise_v2>()) {
    newer(address, bytes, kAdvice, {CU_MEM_LOCATION_TYPE_DEVICE, gpu});
  }
}

}  // namespace

Got allocate(int gpu, std::uint64_t bytes, std::uint64_t& address, const Charge& charge) {
  if (bytes == 0 || rooms[gpu].is_faulted) return Got::native;
  const libc::NoCancel no_cancel;
  const bool is_shared = session::has_any_daemon() && session::has_daemon(gpu);
  if (is_shared && !start_bringing(gpu)) return Got::native;
  card_bytes(gpu);  // asks the driver, which is not to be done with a lock held
  std::uint64_t taken = 0;
  // Who waited for room while the context was lost is told so by the driver.
  if (!take_room(gpu, bytes, is_shared, taken)) {
    return rooms[gpu].is_faulted ? Got::native : Got::nothing;
  }
  CUdeviceptr made = 0;
  const CUresult result = real<Row::cuMemAllocManaged>()(&made, bytes, CU_MEM_ATTACH_GLOBAL);
  if (result != CUDA_SUCCESS) {
    give_room(gpu, taken);
    // What else is wrong, the driver tells of an allocation of its own.
    return result == CUDA_ERROR_OUT_OF_MEMORY ? Got::nothing : Got::native;
  }
  prefer(gpu, made, bytes);
  any.store(true, std::memory_order_relaxed);
  if (is_shared) set_used(gpu);
  settle(gpu, taken,
         {.space = Space::address,
          .kind = MemoryKind::unified,
          .id = made,
          .bytes = bytes,
          .owner = memory::owner_here(),
          .asked = charge.asked,
          .reserved = charge.reserved.hand_over()});
  address = made;
  return Got::memory;
}

bool find(std::uint64_t address, swap::Named& named) {
  if (!any.load(std::memory_order_relaxed)) return false;
  CUdeviceptr begin = 0;
  const auto ask = real<Row::cuPointerGetAttribute>();
  if (ask == nullptr) return false;
  if (ask(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) != CUDA_SUCCESS) return false;
  memory::Record record;
  int device = 0;
  if (!memory::books().find_record(Space::address, begin, record, device)) return false;
  if (record.kind != MemoryKind::unified) return false;
  named.allocated = {begin, record.bytes, record.owner_value, device};
  named.mapping_base = begin;
  named.mapping_bytes = record.bytes;
  return true;
}

void forget_allocations_in_child() { any.store(false, std::memory_order_relaxed); }

}  // namespace nvs::interposer::unified
