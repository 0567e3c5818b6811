// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/visible.h"

#include <algorithm>

#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {
namespace {

// Nobody is asked: the account says at once what the tenant's other processes have, and the daemon
// has told, if later, what is left where anybody has memory that never leaves. Rounding of the
// process's own memory counts, so that whoever takes all that is free gets it.
bool find_shared(int gpu, Visible& visible) {
  if (!session::has_daemon(gpu)) return false;
  std::uint64_t total = 0;
  std::uint64_t most = 0;
  {
    const os::FutexGuard guard(swap::lock);
    total = swap::rooms[gpu].total;
    most = std::min(total, swap::rooms[gpu].limit);
  }
  if (total == 0) return false;
  const std::uint64_t used = swap::allocated_bytes(gpu);
  visible = {total, most > used ? most - used : 0};
  account::Limit tenant;
  if (account::as_if_limited(gpu, total, tenant)) narrow_to(tenant, visible);
  return true;
}

}  // namespace

void narrow_to(const account::Limit& limit, Visible& visible) {
  if (limit.bytes < visible.total) visible.total = limit.bytes;
  if (limit.left < visible.free) visible.free = limit.left;
}

bool find_visible(int gpu, Visible& visible) {
  if (gpu < 0 || gpu >= gate::kGpusMax || !session::has_any_daemon()) return false;
  const libc::NoCancel no_cancel;
  const bool is_shared = find_shared(gpu, visible);
  account::Limit limit;
  const bool is_limited = account::find_limit(gpu, limit);
  if (is_limited) narrow_to(limit, visible);
  return is_shared || is_limited;
}

}  // namespace nvs::interposer::memory
