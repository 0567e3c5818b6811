// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/driver_room.h"

#include "interposer/memory/graph_room.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/take_room.h"
#include "interposer/session/memory.h"
#include "interposer/session/session.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

// Of what programs see: what is taken first, and the most, where nobody knows how much is needed.
constexpr std::uint64_t kFirstPart = 128;
constexpr std::uint64_t kMostPart = 8;

// In which the driver takes memory.
constexpr std::uint64_t kPage = 2 * vmm::kMiB;

constexpr std::int64_t kPause_ns = 2'000'000;
// In room of one size; then the driver has less than the daemon thinks, and is to hear of it.
constexpr std::int64_t kInRoom_ns = 20'000'000;
// Of pauses and of the driver's own calls, which may be slow to fail; beside the time in which
// others make room.
constexpr std::int64_t kPatience_ns = 10'000'000'000;
// Where there is nobody else, somebody may just have left.
constexpr std::int64_t kPatienceAlone_ns = 300'000'000;

// 0: the GPU is not shared by a daemon.
std::uint64_t shared_bytes(int gpu) {
  if (gpu < 0 || gpu >= gate::kGpusMax) return 0;
  session::gpu_seen(gpu);
  if (!session::has_daemon(gpu)) return 0;
  const os::FutexGuard guard(lock);
  return rooms[gpu].total;
}

// What is for the driver will never have to move.
void count_driver(int gpu, std::uint64_t more, std::uint64_t less) {
  const os::FutexGuard guard(lock);
  rooms[gpu].for_driver += more;
  rooms[gpu].for_driver -= less;
}

std::uint64_t find_lacking(int gpu, std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  return lacking(gpu, bytes);
}

// What is promised to graphs gives way to what is wanted now.
bool can_be_had(int gpu, std::uint64_t bytes) {
  for (;;) {
    const std::uint64_t lacks = find_lacking(gpu, bytes);
    if (lacks == 0) return true;
    if (!memory::graphs::make_way(gpu, lacks)) return false;
  }
}

}  // namespace

bool may_ever_have(int gpu, std::uint64_t bytes) { return find_lacking(gpu, bytes) == 0; }

DriverRoom::DriverRoom(int gpu, std::uint64_t bytes)
    : gpu_(gpu),
      total_(shared_bytes(gpu)),
      first_(total_ / kFirstPart),
      most_(total_ / kMostPart),
      began_ns_(os::monotonic_ns()) {
  if (total_ == 0 || bytes == kUnknownBytes) return;
  if (!can_be_had(gpu, bytes)) {
    total_ = 0;
  } else {
    first_ = most_ = (bytes + kPage - 1) / kPage * kPage;
  }
}

DriverRoom::~DriverRoom() {
  if (!has_waited_) return;
  if (held_ != 0) give_room(gpu_, held_);
  count_driver(gpu_, 0, held_);
  set_short(gpu_, false);
  session::tell_holds(gpu_);
}

int gpu_here() {
  return session::has_any_daemon() ? memory::current_device() : memory::kUnknownDevice;
}

bool DriverRoom::take_ahead() {
  if (total_ == 0) return false;
  has_waited_ = true;
  const std::int64_t asked_ns = os::monotonic_ns();
  const bool is_taken = take(first_);
  taken_ns_ = os::monotonic_ns();
  began_ns_ += taken_ns_ - asked_ns;
  return is_taken;
}

bool DriverRoom::wait() {
  const bool is_alone = total_ != 0 && !is_shared(gpu_);
  const std::int64_t now_ns = os::monotonic_ns();
  const std::int64_t patience_ns = is_alone ? kPatienceAlone_ns : kPatience_ns;
  if (total_ == 0 || now_ns - began_ns_ >= patience_ns) return false;
  has_waited_ = true;
  if (make_room(gpu_, first_) == Made::room) return true;
  const bool needs_room = !is_alone && (held_ == 0 || now_ns - taken_ns_ >= kInRoom_ns);
  if (needs_room) {
    const bool is_taken = held_ == 0 ? take(first_) : take_more();
    taken_ns_ = os::monotonic_ns();
    began_ns_ += taken_ns_ - now_ns;
    return is_taken;
  }
  os::sleep_ns(kPause_ns);
  return true;
}

bool DriverRoom::take(std::uint64_t bytes) {
  count_driver(gpu_, bytes, 0);
  if (take_room(gpu_, bytes, false)) {
    held_ = bytes;
    return true;
  }
  count_driver(gpu_, 0, bytes);
  return false;
}

// What is held is asked for again, so that the daemon finds out what is missing.
bool DriverRoom::take_more() {
  const std::uint64_t before = held_;
  const std::uint64_t bytes = before < most_ / 2 ? 2 * before : most_;
  count_driver(gpu_, bytes, before);
  held_ = 0;
  ask_again(gpu_, before, bytes);
  if (take_room(gpu_, bytes, true)) {
    held_ = bytes;
    return true;
  }
  count_driver(gpu_, 0, bytes);
  most_ = before;
  return take(before);
}

}  // namespace nvs::interposer::swap
