// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/listen.h"

#include <atomic>

#include "interposer/memory/account.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/swap/host.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/drain.h"
#include "interposer/session/faults.h"
#include "interposer/session/memory.h"
#include "interposer/session/shared_files.h"
#include "interposer/session/tend.h"
#include "interposer/session/windows.h"
#include "os/linux_calls.h"

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::int64_t kFirstRetry_ns = 50 * kMillisecond_ns;
constexpr std::int64_t kLongestRetry_ns = 1000 * kMillisecond_ns;
// A daemon that refused us is left alone for a while.
constexpr std::int64_t kRefusedRetry_ns = 10'000 * kMillisecond_ns;
// How long a pause outlives the daemon.
constexpr std::int64_t kPausedAlone_ns = 10'000 * kMillisecond_ns;

constexpr std::uint16_t kAccountVersion = 2;  // of the protocol, since when there are accounts

constinit std::int64_t retry_ns = kFirstRetry_ns;
// The listener reads what is there and acts on it.
constinit std::atomic<bool> hearing{false};
// When a daemon last did something for us.
constinit std::int64_t served_ns = 0;

template <class Message, class Handle>
void take(const char* packet, std::size_t size, Handle handle) {
  Message message;
  if (wire::decode(packet, size, message)) handle(message);
}

void said_goodbye(const wire::Goodbye& goodbye) {
  const auto reason = static_cast<wire::GoodbyeReason>(goodbye.reason);
  if (reason != wire::GoodbyeReason::stopping) retry_ns = kRefusedRetry_ns;
}

void take_segment(const char* packet, std::size_t size, int file) {
  wire::HostSegment message;
  if (file < 0) return;
  if (wire::decode(packet, size, message)) {
    swap::host_lent(message.segment, message.bytes, file);
  } else {
    os::close_file(file);
  }
}

void take_shared(const char* packet, std::size_t size, int file) {
  wire::SharedChunk message;
  if (wire::decode(packet, size, message)) return shared_chunk_came(message, file);
  if (file >= 0) os::close_file(file);
}

void take_account(const char* packet, std::size_t size, int file) {
  wire::MemoryAccount message;
  if (file < 0) return;
  if (wire::decode(packet, size, message)) {
    account::file_came(file, message.slot, message.bytes);
  } else {
    os::close_file(file);
  }
}

// Those whose descriptor is ours to use. False: it is none of them.
bool take_with_file(wire::Type type, const char* packet, std::size_t size, int file) {
  switch (type) {
    case wire::Type::HostSegment:
      take_segment(packet, size, file);
      return true;
    case wire::Type::SharedChunk:
      take_shared(packet, size, file);
      return true;
    case wire::Type::MemoryAccount:
      take_account(packet, size, file);
      return true;
    default:
      return false;
  }
}

// An older daemon has the account of none, and no numbers of GPUs.
void welcomed(const char* packet) {
  wire::Header header{};
  __builtin_memcpy(&header, packet, sizeof header);
  if (header.version < kAccountVersion) account::daemon_has_none();
  retry_ns = kFirstRetry_ns;
}

void take_known(const wire::GpuKnown& message) {
  memory_numbered(message);
  gpu_known(message);
}

bool receive_all() {
  char packet[wire::kPacketMax];
  std::size_t size = 0;
  for (;;) {
    int file = -1;
    switch (connection::receive(packet, sizeof packet, size, file)) {
      case connection::Outcome::again:
        return true;
      case connection::Outcome::lost:
        return false;
      case connection::Outcome::done:
        if (size <= sizeof packet) hear(packet, size, file);
    }
  }
}

void daemon_gone() {
  connection::disconnect();
  swap::host_daemon_gone();
  const os::FutexGuard guard(lock);
  // First of all GPUs: a gate does not open while memory that it can reach has to go.
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (gpus[gpu].phase == Phase::unused) continue;
    gpus[gpu].unserved = false;  // by the next one it may be
    memory_alone(gpu);
  }
  for (int gpu = 0; gpu < gate::kGpusMax && !paused; ++gpu) {
    if (gpus[gpu].phase != Phase::unused) open_alone(gpu);
  }
}

bool reconnect() {
  const os::FutexGuard guard(lock);
  if (!connection::connect()) return false;
  forget_daemon();
  say_hello();
  if (const std::uint64_t kept = swap::host_kept(); kept > 0)
    connection::send(wire::KeptHost{kept});
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    Gpu& mine = gpus[gpu];
    // Without a thread to drain it, a GPU cannot be shared: it is used freely.
    if (mine.phase == Phase::unused || !drain::prepare(gpu)) continue;
    // A drain of the last daemon's is nobody's business any more.
    if (mine.phase == Phase::draining || mine.phase == Phase::free) open_alone(gpu);
    mine.grant = 0;
    mine.opens_alone = false;
    announce(gpu);
    if (mine.phase == Phase::closed) tell_want(gpu);
  }
  return true;
}

void live_alone() {
  while (!reconnect()) {
    os::sleep_ns(retry_ns);
    // Slowly: one that is started again is there within a second or so.
    retry_ns += retry_ns / 4;
    if (retry_ns > kLongestRetry_ns) retry_ns = kLongestRetry_ns;
    end_long_pause(clock_ns());
    for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) act_on_fault(gpu);
    const os::FutexGuard guard(lock);
    lift_old_bounds(clock_ns());
    open_complete();
  }
  memory::renew_shares();
}

}  // namespace

void hear(const char* packet, std::size_t size, int file) {
  const wire::Arrival arrival = wire::inspect(packet, size, wire::Sender::daemon);
  // What a newer daemon says that we do not know is not for us.
  const bool is_for_us = arrival.fault == wire::Fault::none;
  if (is_for_us && take_with_file(arrival.type, packet, size, file)) return;
  if (file >= 0) os::close_file(file);
  if (!is_for_us) return;
  const bool serves = arrival.type != wire::Type::Welcome && arrival.type != wire::Type::Goodbye &&
                      arrival.type != wire::Type::GpuKnown;
  if (serves) served_ns = clock_ns();
  switch (arrival.type) {
    case wire::Type::Open:
      return take<wire::Open>(packet, size, &open_window);
    case wire::Type::Close:
      return take<wire::Close>(packet, size, &close_window);
    case wire::Type::LetIn:
      return take<wire::LetIn>(packet, size, &let_in);
    case wire::Type::GetReady:
      return take<wire::GetReady>(packet, size, &get_ready);
    case wire::Type::GpuKnown:
      return take<wire::GpuKnown>(packet, size, &take_known);
    case wire::Type::Pause:
      return take<wire::Pause>(packet, size, &set_paused);
    case wire::Type::Allow:
      return take<wire::Allow>(packet, size, &set_allowance);
    case wire::Type::Visible:
      return take<wire::Visible>(packet, size, &set_visible);
    case wire::Type::HostDenied:
      return take<wire::HostDenied>(
          packet, size, [](const wire::HostDenied& denied) { swap::host_denied(denied.bytes); });
    case wire::Type::HostShort:
      return take<wire::HostShort>(packet, size, [](const wire::HostShort& level) {
        swap::set_host_short(level.is_short != 0);
      });
    case wire::Type::SharedGone:
      return take<wire::SharedGone>(packet, size, &shared_chunk_gone);
    case wire::Type::Pong:
      return note_pong();
    case wire::Type::Goodbye:
      return take<wire::Goodbye>(packet, size, &said_goodbye);
    default:
      welcomed(packet);
  }
}

bool hear_all() {
  hearing.store(true);
  const bool is_there = receive_all();
  hearing.store(false);
  return is_there;
}

// In this order: what has been read meanwhile is being heard, or has been.
bool is_word_due() { return connection::has_unread() || hearing.load(); }

// One that is there but does not serve us cannot resume anybody either.
void end_long_pause(std::int64_t now_ns) {
  const os::FutexGuard guard(lock);
  if (!paused || now_ns - served_ns < kPausedAlone_ns) return;
  paused = false;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (gpus[gpu].phase != Phase::unused) open_alone(gpu);
  }
}

void listen(void*) {
  retry_ns = kFirstRetry_ns;  // in the child of a fork they are the parent's
  served_ns = 0;
  hearing.store(false);
  for (;;) {
    if (!connection::is_connected()) live_alone();
    const std::int64_t sleep_ns = tend();
    if (sleep_ns > 0) connection::wait(sleep_ns);
    if (hear_all() && !is_daemon_silent()) continue;
    daemon_gone();
    end_long_pause(clock_ns());
    os::sleep_ns(retry_ns);
  }
}

}  // namespace nvs::interposer::session
