// SPDX-License-Identifier: Apache-2.0
// One client's connection: its packets, never waiting for it; how fast it may talk; and which of
// the node's GPUs its own numbers mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "base/unique_fd.h"
#include "core/ids.h"
#include "daemon/limits.h"
#include "daemon/message_budget.h"
#include "os/foreign_file.h"
#include "wire/codec.h"

namespace nvs::daemon {

class Session {
 public:
  Session(core::ClientId id, UniqueFd fd, Instant now);
  // The other side hears at once that it is over.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  core::ClientId id() const { return id_; }
  int fd() const { return fd_.get(); }

  enum class Output : std::uint8_t {
    flowing,
    queued,  // the socket is full: call flush() when it takes more
    stuck,   // the queue is full as well: close it
    gone,    // nobody is at the other end any more: close it
  };
  template <class Message>
  Output send(const Message& message) {
    static_assert(Message::kSender == wire::Sender::daemon);
    static_assert(sizeof(wire::Packet<Message>) <= kPacketSentMax);
    wire::Packet<Message> packet;
    packet.message = message;
    return send_packet(&packet, sizeof packet, kNoFile);
  }
  // With a descriptor, which stays the caller's.
  template <class Message>
  Output send_with_file(const Message& message, int file) {
    static_assert(sizeof(wire::Packet<Message>) <= kPacketSentMax);
    wire::Packet<Message> packet;
    packet.message = message;
    return send_packet(&packet, sizeof packet, file);
  }
  Output flush();
  Output output() const { return output_; }

  // False: it has sent more than a client may.
  bool take_message(Instant now) { return budget_.take(now, managed_); }
  std::int64_t gpus() const { return managed_; }
  // False: it says more often that its drains have stalled than it can be true.
  bool take_stall(Instant now) { return stalls_.take(now, managed_); }

  enum class Declared : std::uint8_t {
    fresh,
    again,     // the same as before
    conflict,  // the number means another GPU already, or the GPU has another number
  };
  // `gpu` is nothing for a GPU that the daemon does not manage.
  Declared declare(std::uint32_t ordinal, std::optional<core::GpuId> gpu);
  bool is_declared(std::uint32_t ordinal) const { return gpus_[ordinal] != kUnnamed; }
  std::optional<core::GpuId> gpu_of(std::uint32_t ordinal) const;
  std::optional<std::uint32_t> ordinal_of(core::GpuId gpu) const;

 private:
  struct Queued {
    std::size_t size;
    std::array<std::byte, kPacketSentMax> bytes;
    os::ForeignFile file;
  };
  static constexpr int kNoFile = -1;
  static constexpr std::int16_t kUnnamed = -1;
  static constexpr std::int16_t kUnmanaged = -2;
  static_assert(kGpusMax < INT16_MAX);

  Output send_packet(const void* packet, std::size_t size, int file);

  core::ClientId id_;
  os::ForeignFile fd_;  // what the client has sent and nobody has read may be anything
  MessageBudget budget_;
  StallBudget stalls_;
  Output output_ = Output::flowing;
  std::int64_t managed_ = 0;
  std::array<std::int16_t, wire::kGpusMax> gpus_;  // by ordinal
  std::array<std::int16_t, kGpusMax> ordinals_;    // by GpuId
  std::vector<Queued> queue_;
  std::size_t flushed_ = 0;  // of the queue
};

}  // namespace nvs::daemon
