// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/shared_files.h"

#include <atomic>

#include <limits.h>

#include "interposer/resolve/libc.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "os/futex_lock.h"

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kPatience_ns = 2'000'000'000;
constexpr std::int64_t kLook_ns = 50'000'000;
// The socket is full.
constexpr std::int64_t kSendPause_ns = 1'000'000;
// The daemon takes 4000 messages a second from us, and from who has just come 1000 at once; who
// sends more is closed (daemon/limits.h). A thousand pieces are told of again when there is a new
// daemon, and others are told of, or opened, as fast as the program likes. Half of that is for
// them, so that the rest of what we say has its place.
constexpr std::int64_t kMessageApart_ns = 500'000;
constexpr std::int64_t kMessagesAtOnce = 400;

constinit os::FutexLock pacing;  // guards the next one
constinit std::int64_t paid_until_ns = 0;
constinit os::FutexLock asking;   // one question at a time
constinit os::FutexLock pending;  // guards what follows
constinit std::uint64_t request = 0;
constinit bool is_open = false;
constinit bool is_found = false;
constinit SharedChunk answer = {};
constinit std::atomic<std::uint32_t> answers{0};  // a futex

const volatile std::uint32_t* futex() {
  return reinterpret_cast<const volatile std::uint32_t*>(&answers);
}

void wait_for_turn() {
  std::int64_t early_ns = 0;
  {
    const os::FutexGuard guard(pacing);
    const std::int64_t now_ns = os::monotonic_ns();
    const std::int64_t saved_since_ns = now_ns - kMessagesAtOnce * kMessageApart_ns;
    if (paid_until_ns < saved_since_ns) paid_until_ns = saved_since_ns;
    paid_until_ns += kMessageApart_ns;
    early_ns = paid_until_ns - now_ns;
  }
  if (early_ns > 0) os::sleep_ns(early_ns);
}

template <class Send>
bool send_patiently(Send send) {
  wait_for_turn();
  for (std::int64_t waited_ns = 0; waited_ns < kPatience_ns; waited_ns += kSendPause_ns) {
    const connection::Outcome outcome = send();
    if (outcome != connection::Outcome::again) return outcome == connection::Outcome::done;
    os::sleep_ns(kSendPause_ns);
  }
  return false;
}

template <class Message>
void set_token(Message& message, const ShareToken& token) {
  for (std::size_t i = 0; i < sizeof token.bytes; ++i) message.token[i] = token.bytes[i];
}

void settle(bool found) {
  is_open = false;
  is_found = found;
  answers.fetch_add(1, std::memory_order_release);
  os::futex_wake(futex(), INT_MAX);
}

wire::OpenShared begin(const ShareToken& token, std::uint32_t index) {
  wire::OpenShared message;
  set_token(message, token);
  message.index = index;
  const os::FutexGuard guard(pending);
  message.request = ++request;
  is_open = true;
  answer = {};
  return message;
}

// Nobody waits any more: what comes late is not kept.
bool end(SharedChunk& chunk) {
  const os::FutexGuard guard(pending);
  const bool found = !is_open && is_found;
  is_open = false;
  if (found) chunk = answer;
  return found;
}

void wait_for_answer() {
  for (std::int64_t waited_ns = 0; waited_ns < kPatience_ns; waited_ns += kLook_ns) {
    const std::uint32_t seen = answers.load(std::memory_order_acquire);
    {
      const os::FutexGuard guard(pending);
      if (!is_open) return;
    }
    if (!connection::is_connected()) return;
    os::futex_wait(futex(), seen, kLook_ns);
  }
}

}  // namespace

bool share_chunk(const ShareToken& token, std::uint32_t index, std::uint32_t count,
                 std::uint64_t bytes, int file) {
  const libc::NoCancel no_cancel;
  wire::Packet<wire::ShareMemory> packet;
  set_token(packet.message, token);
  packet.message.index = index;
  packet.message.count = count;
  packet.message.bytes = bytes;
  return send_patiently([&] { return connection::send(&packet, sizeof packet, file); });
}

void unshare(const ShareToken& token) {
  const libc::NoCancel no_cancel;
  wire::UnshareMemory message;
  set_token(message, token);
  send_patiently([&] { return connection::send(message); });
}

// With the session's lock: a new one hears who we are before all else.
std::uint32_t daemon_number() {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  return connection::times_connected();
}

bool open_shared(const ShareToken& token, std::uint32_t index, SharedChunk& chunk) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(asking);
  const wire::OpenShared message = begin(token, index);
  if (send_patiently([&] { return connection::send(message); })) wait_for_answer();
  return end(chunk);
}

void shared_chunk_came(const wire::SharedChunk& message, int file) {
  {
    const os::FutexGuard guard(pending);
    if (is_open && file >= 0 && message.request == request) {
      answer = {file, message.count, message.bytes};
      return settle(true);
    }
  }
  if (file >= 0) os::close_file(file);
}

void shared_chunk_gone(const wire::SharedGone& message) {
  const os::FutexGuard guard(pending);
  if (is_open && message.request == request) settle(false);
}

void forget_shared_in_child() {
  asking.reset();
  pending.reset();
  pacing.reset();
  is_open = false;
  answer = {};
}

}  // namespace nvs::interposer::session
