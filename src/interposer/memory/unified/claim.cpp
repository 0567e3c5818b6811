// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/unified/claim.h"

#include <algorithm>

#include <sys/sysinfo.h>

#include "interposer/memory/fixed.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/unified/use.h"
#include "os/linux_calls.h"

namespace nvs::interposer::unified {
namespace {

using swap::kNoLimit;
using swap::Room;
using swap::rooms;

// Of what one process could have of the GPU, and of the host's memory: so much stays free of us.
constexpr std::uint64_t kReservePart = 8;

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
std::uint64_t without_reserve(std::uint64_t bytes) { return bytes - bytes / kReservePart; }

std::uint64_t claim_of(int gpu, std::uint64_t bytes) {
  const Room& room = rooms[gpu];
  if (room.total == 0) return bytes;
  // Stream-ordered memory is of the kind that we move, and needs its place too.
  const std::uint64_t others =
      memory::fixed_on(gpu) + swap::regions.sums(gpu).total() + swap::regions.pinned(gpu).total();
  return std::min(bytes, less(without_reserve(room.limit), others));
}

std::uint64_t allowed(const Room& room) { return room.number != 0 ? room.allowed : kNoLimit; }

std::uint64_t host_bytes() {
  struct sysinfo info {};
  if (os::system_call(SYS_sysinfo, os::argument(&info)) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

}  // namespace

std::uint64_t claimed(int gpu) { return is_used(gpu) ? claim_of(gpu, memory::unified_on(gpu)) : 0; }

std::uint64_t resident(int gpu) { return std::min(rooms[gpu].brought, claimed(gpu)); }

std::uint64_t away(int gpu) { return less(claimed(gpu), rooms[gpu].brought); }

// What other threads are about to have counts as if it were there.
std::uint64_t growth(int gpu, std::uint64_t bytes) {
  const std::uint64_t soon = memory::unified_on(gpu) + rooms[gpu].backing + rooms[gpu].asked;
  return claim_of(gpu, soon + bytes) - claim_of(gpu, soon);
}

std::uint64_t most(int gpu) {
  const std::uint64_t card = card_bytes(gpu);
  if (may_exceed()) return card + without_reserve(host_bytes());
  return rooms[gpu].total != 0 ? less(rooms[gpu].limit, memory::fixed_on(gpu)) : card;
}

Next follow_allowance(int gpu, bool is_closed, std::uint64_t& target) {
  Room& room = rooms[gpu];
  if (room.is_faulted) return Next::none;
  const std::uint64_t has = swap::on_device(gpu);
  const std::uint64_t here = resident(gpu);
  if (has > allowed(room) && here > 0) {
    if (!is_closed) return Next::wait;
    room.brought = less(here, has - allowed(room));
    swap::changed(gpu);
    return Next::left;
  }
  const std::uint64_t more = std::min(away(gpu), less(allowed(room), has));
  target = here + more;
  return more > 0 ? Next::bring : Next::none;
}

bool note_brought(int gpu, std::uint64_t bytes) {
  Room& room = rooms[gpu];
  const std::uint64_t others = swap::on_device(gpu) - resident(gpu);
  if (bytes > less(allowed(room), others)) return false;
  room.brought = std::max(room.brought, bytes);
  swap::changed(gpu);
  return true;
}

bool is_complete(int gpu) {
  if (!is_used(gpu)) return true;
  const os::FutexGuard guard(swap::lock);
  return away(gpu) == 0;
}

}  // namespace nvs::interposer::unified
