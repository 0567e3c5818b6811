// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/query.h"

#include "interposer/memory/fixed.h"
#include "interposer/memory/ipc_open.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/view_calls.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Region;

}  // namespace

Whose whose(std::uint64_t address, Named& named) {
  if (!session::has_any_daemon()) return Whose::drivers;
  if (memory::is_opened(address)) {
    return memory::find_opened(address, named) ? Whose::ours : Whose::nobodys;
  }
  if (find_view(address, named)) return Whose::ours;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  const Region* region = regions.find(address);
  if (region == nullptr) return Whose::drivers;
  named.mapping_base = region->base();
  named.mapping_bytes = region->split().bytes;
  named.is_pinned = region->is_pinned();
  return describe(*region, address, named.allocated) ? Whose::ours : Whose::nobodys;
}

std::uint64_t allocated_bytes(int gpu) {
  const libc::NoCancel no_cancel;
  std::uint64_t bytes = memory::fixed_in_books(gpu) + memory::managed_on(gpu);
  const os::FutexGuard guard(lock);
  bytes += regions.sums(gpu).total() + regions.pinned(gpu).total() + rooms[gpu].backing;
  return bytes;
}

bool pin(std::uint64_t address) {
  const libc::NoCancel no_cancel;
  int gpu = 0;
  {
    const os::FutexGuard guard(lock);
    Region* region = regions.find(address);
    if (region == nullptr || !regions.pin(region)) return false;
    gpu = region->facts().device;
    changed(gpu);
  }
  session::tell_holds(gpu);
  return true;
}

void pin_all(const vmm::Range& range) {
  const std::uint64_t end = range.begin + range.bytes;
  for (std::uint64_t at = range.begin; at < end;) {
    Named named;
    if (whose(at, named) != Whose::ours || named.mapping_bytes == 0) return;
    if (!named.is_view) pin(at);
    at = named.mapping_base + named.mapping_bytes;
  }
}

bool pinned_chunk(std::uint64_t address, PinnedChunk& chunk) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  const Region* region = regions.find(address);
  if (region == nullptr || !region->is_pinned()) return false;
  const vmm::Split& split = region->split();
  const std::uint32_t number = split.chunk_at(address - region->base());
  chunk = {region->base() + split.offset_of(number), split.bytes_of(number),
           region->chunk(number).handle};
  return true;
}

}  // namespace nvs::interposer::swap
