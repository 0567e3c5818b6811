// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/host_return.h"

#include "interposer/memory/swap/known.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

// The one on its way, if it has bytes. Guarded by the lock of rooms.h, as `kept` is; `mapped_at` is
// the thread's own.
struct Leaving {
  std::uint64_t number;  // the daemon's; 0: of one that is gone
  std::uint64_t bytes;
  std::uint64_t mapped_at;  // 0: not any more
};
constinit Leaving leaving = {};
constinit std::uint64_t kept = 0;

// With the session's lock, so that no new daemon hears of it before it hears of us, and with ours,
// so that the number is of the daemon that hears it. False: it has to be said again.
bool tell() {
  const os::FutexGuard session_guard(session::lock);
  const os::FutexGuard guard(lock);
  connection::Outcome said = connection::Outcome::done;
  if (leaving.number != 0) {
    said = connection::send(wire::HostDone{leaving.number});
  } else {
    said = connection::send(wire::KeptHost{kept - leaving.bytes});
  }
  if (said == connection::Outcome::again) return false;
  if (leaving.number == 0) kept -= leaving.bytes;
  leaving = {};
  return true;
}

}  // namespace

std::uint64_t begin_return(std::uint64_t spare) {
  if (leaving.bytes != 0) return 0;
  const vmm::HostSegment* segment = host_room.next_empty(0);
  while (segment != nullptr && segment->bytes > spare) segment = host_room.next_empty(segment->id);
  if (segment == nullptr) return 0;
  leaving = {segment->number, segment->bytes, segment->mapped_at};
  host_room.remove(segment->id);
  return leaving.bytes;
}

bool begin_return_of(std::uint64_t number, std::uint64_t bytes, std::uint64_t mapped_at) {
  if (leaving.bytes != 0) return false;
  leaving = {number, bytes, mapped_at};
  return true;
}

Returned return_some() {
  std::uint64_t bytes = 0;
  {
    const os::FutexGuard guard(lock);
    bytes = leaving.bytes;
  }
  if (bytes == 0) return Returned::nothing;
  if (leaving.mapped_at != 0) {
    const Forgot forgot = forget_piece(leaving.mapped_at);
    if (forgot == Forgot::some) return Returned::piece;
    if (forgot == Forgot::nothing) return Returned::stuck;
    os::unmap_pages(reinterpret_cast<void*>(leaving.mapped_at), bytes);
    leaving.mapped_at = 0;
  }
  return tell() ? Returned::segment : Returned::stuck;
}

void host_becomes_kept(std::uint64_t bytes) {
  leaving.number = 0;
  kept = bytes + leaving.bytes;
}

std::uint64_t kept_bytes() { return kept; }

void forget_returns_in_child() {
  leaving = {};
  kept = 0;
}

}  // namespace nvs::interposer::swap
