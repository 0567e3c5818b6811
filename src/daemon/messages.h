// SPDX-License-Identifier: Apache-2.0
// What the packets of a client that has joined mean: events for the core, or answers. Whatever is
// wrong with one is found here, and ends that client's connection.
#pragma once

#include <cstddef>
#include <optional>

#include "base/instant.h"
#include "daemon/host_pool.h"
#include "daemon/identity.h"
#include "daemon/node.h"
#include "daemon/session.h"
#include "wire/codec.h"

namespace nvs::daemon {

// Why a connection is closed: for the client and for the log.
struct Fault {
  wire::GoodbyeReason reason;
  const char* text;
};
using Verdict = std::optional<Fault>;
inline Fault garbage(const char* text) { return {wire::GoodbyeReason::garbage, text}; }

// What is wrong with a packet, as far as its header tells. `type` is set unless something is wrong,
// or it is to be skipped: a message that only newer versions know.
Verdict check_packet(const void* packet, std::size_t size, std::optional<wire::Type>& type);

// What a client says of its memory, for the core.
core::MemoryHeld memory_held(core::ClientId client, core::GpuId gpu, const wire::Holds& holds);

class Messages {
 public:
  enum class Teachers : std::uint8_t {
    anybody,         // there is no NVML: clients are all that is known of GPUs
    administrators,  // NVML has told; what it does not know is taken from these alone
  };
  void set_teachers(Teachers teachers) { teachers_ = teachers; }
  Messages(Node& node, HostPool& host, Teachers teachers, const Peer& self)
      : node_(node), host_(host), teachers_(teachers), self_(self) {}

  struct Sender {
    Session& session;
    core::TenantId tenant;
    const Peer& peer;
    OriginBudgets* budgets = nullptr;  // of its origin (Origins); null: it may do as it likes
  };
  // One packet of that type, as check_packet() found it. Effects are appended; answers are sent,
  // and whether that went well is in Session::output().
  Verdict take(Instant now, const Sender& sender, wire::Type type, const void* packet,
               std::size_t size, Effects& effects);

 private:
  struct Context;
  template <class Message>
  Verdict decode_and_take(const Context& context, const void* packet, std::size_t size);
  template <class Event, class Message>
  Verdict feed(const Context& context, const Message& message);

  Verdict take_message(const Context& context, const wire::UseGpu& use);
  Verdict take_message(const Context& context, const wire::Want& want);
  Verdict take_message(const Context& context, const wire::Idle& idle);
  Verdict take_message(const Context& context, const wire::Busy& busy);
  Verdict take_message(const Context& context, const wire::Drained& drained);
  Verdict take_message(const Context& context, const wire::Draining& draining);
  Verdict take_message(const Context& context, const wire::Stalled& stalled);
  Verdict take_message(const Context& context, const wire::Refused& refused);
  Verdict take_message(const Context& context, const wire::Usage& usage);
  Verdict take_message(const Context& context, const wire::Ping& ping);
  Verdict take_message(const Context& context, const wire::NeedHost& need);
  Verdict take_message(const Context& context, const wire::HostDone& done);
  Verdict take_message(const Context& context, const wire::Holds& holds);
  Verdict take_message(const Context& context, const wire::KeptHost& kept);
  Verdict take_message(const Context& context, const wire::LackHost& lack);

  std::optional<core::GpuId> gpu_for(const Context& context, const UuidBytes& uuid);

  Node& node_;
  HostPool& host_;
  Teachers teachers_;
  const Peer& self_;
};

}  // namespace nvs::daemon
