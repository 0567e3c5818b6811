// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/onlooker.h"

#include <errno.h>

#include "interposer/resolve/clock.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/gpu_by_uuid.h"
#include "os/passed_file.h"
#include "os/socket_calls.h"

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kPatience_ns = 100'000'000;
constexpr std::int64_t kKept_ns = 1'000'000'000;
constexpr int kKeptMax = gate::kGpusMax;

struct Kept {
  std::uint8_t uuid[16];
  std::int64_t seen_ns;  // 0: nothing is kept here
  bool is_shared;
  account::Limit seen;
};

constinit os::FutexLock look_lock;  // one at a time looks; guards what is kept
constinit Kept all_kept[kKeptMax] = {};

bool is_same(const std::uint8_t (&a)[16], const std::uint8_t (&b)[16]) {
  return __builtin_memcmp(a, b, sizeof a) == 0;
}

// A connection of its own, and what the daemon has said so far.
class Look {
 public:
  explicit Look(int socket) : socket_(socket) {}
  ~Look() {
    if (account_ != nullptr) account::unmap(account_);
    os::close_file(socket_);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  bool ask(const std::uint8_t (&uuid)[16]) {
    wire::UseGpu use;
    for (std::size_t i = 0; i < sizeof use.uuid; ++i) use.uuid[i] = uuid[i];
    return send(hello_message()) && send(use);
  }

  // Until all is known, or it takes too long.
  bool hear(std::uint64_t card, account::Limit& seen) {
    const std::int64_t until_ns = clock_ns() + kPatience_ns;
    while (!is_all_known()) {
      const std::int64_t left_ns = until_ns - clock_ns();
      if (left_ns <= 0 || !receive(left_ns)) break;
    }
    if (!is_known_) return false;
    account::Limit limit;
    const bool is_limited = account_ != nullptr && account::find_limit(*account_, number_, limit);
    if (!is_limited && total_ == 0) return false;
    const std::uint64_t total = total_ != 0 ? total_ : card;
    seen = account_ != nullptr ? account::limit_of(*account_, number_, total)
                               : account::Limit{total, total};
    if (is_limited && limit.bytes < seen.bytes) seen = limit;
    if (total_ != 0 && left_ < seen.left) seen.left = left_;
    return true;
  }

 private:
  template <class Message>
  bool send(const Message& message) {
    wire::Packet<Message> packet;
    packet.message = message;
    return os::send_packet(socket_, &packet, sizeof packet) == static_cast<long>(sizeof packet);
  }

  // A GPU that is not managed is as it is. What programs see of it comes last.
  bool is_all_known() const { return is_answered_ && (!is_known_ || total_ != 0); }

  // False: the connection is gone.
  bool receive(std::int64_t timeout_ns) {
    char packet[wire::kPacketMax];
    int file = -1;
    os::wait_readable(socket_, timeout_ns);
    const long size = os::receive_packet_with_file(socket_, packet, sizeof packet, file);
    if (size > 0) take(packet, static_cast<std::size_t>(size), file);
    if (file >= 0) os::close_file(file);
    return size > 0 || size == -EAGAIN || size == -EINTR;
  }

  void take(const char* packet, std::size_t size, int file) {
    if (size > wire::kPacketMax) return;
    const wire::Arrival arrival = wire::inspect(packet, size, wire::Sender::daemon);
    if (arrival.fault != wire::Fault::none) return;
    wire::MemoryAccount account;
    wire::GpuKnown known;
    wire::Visible visible;
    if (arrival.type == wire::Type::MemoryAccount && wire::decode(packet, size, account)) {
      if (file >= 0 && account_ == nullptr) account_ = account::map(file);
    } else if (arrival.type == wire::Type::GpuKnown && wire::decode(packet, size, known)) {
      is_answered_ = true;
      is_known_ = known.known != 0;
      number_ = static_cast<int>(known.gpu);
    } else if (arrival.type == wire::Type::Visible && wire::decode(packet, size, visible)) {
      total_ = visible.total;
      left_ = visible.limit;  // it has nothing itself
    }
  }

  int socket_;
  wire::AccountFile* account_ = nullptr;
  bool is_answered_ = false;
  bool is_known_ = false;
  int number_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t left_ = 0;
};

// Of this GPU, or else the oldest.
Kept& place_for(const std::uint8_t (&uuid)[16]) {
  Kept* oldest = &all_kept[0];
  for (Kept& one : all_kept) {
    if (one.seen_ns != 0 && is_same(one.uuid, uuid)) return one;
    if (one.seen_ns < oldest->seen_ns) oldest = &one;
  }
  return *oldest;
}

bool look(const std::uint8_t (&uuid)[16], std::uint64_t card, account::Limit& seen) {
  const int socket = connection::open_another();
  if (socket < 0) return false;
  Look one(socket);
  return one.ask(uuid) && one.hear(card, seen);
}

}  // namespace

bool may_look() { return connection::has_socket(); }

bool look_at_gpu(const char* uuid_text, std::uint64_t card, account::Limit& seen) {
  std::uint8_t uuid[16] = {};
  if (!read_uuid(uuid_text, uuid)) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(look_lock);
  Kept& kept = place_for(uuid);
  const std::int64_t now_ns = clock_ns();
  const bool is_fresh =
      kept.seen_ns != 0 && is_same(kept.uuid, uuid) && now_ns - kept.seen_ns < kKept_ns;
  if (!is_fresh) {
    kept = {};
    kept.is_shared = look(uuid, card, kept.seen);
    kept.seen_ns = now_ns;
    for (std::size_t i = 0; i < sizeof uuid; ++i) kept.uuid[i] = uuid[i];
  }
  seen = kept.seen;
  return kept.is_shared;
}

void forget_looks_in_child() {
  look_lock.reset();
  for (Kept& one : all_kept) one = {};
}

}  // namespace nvs::interposer::session
