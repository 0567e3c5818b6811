// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/visible.h"

#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {

bool find_visible(int gpu, Visible& visible) {
  if (gpu < 0 || gpu >= gate::kGpusMax || !session::has_any_daemon()) return false;
  const libc::NoCancel no_cancel;
  if (!session::has_daemon(gpu)) return false;
  {
    const os::FutexGuard guard(swap::lock);
    visible.total = swap::rooms[gpu].total;
  }
  if (visible.total == 0) return false;
  visible.used = swap::allocated_bytes(gpu);
  return true;
}

}  // namespace nvs::interposer::memory
