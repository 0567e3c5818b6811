// SPDX-License-Identifier: Apache-2.0
#include "daemon/messages.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "daemon/limits.h"

namespace nvs::daemon {

struct Messages::Context {
  Instant now;
  const Sender& sender;
  Effects& effects;
};

namespace {

constexpr const char* kUnnamedGpu = "it speaks of a GPU that it has not named";

template <class Event, class Message>
Event event_of(core::ClientId client, core::GpuId gpu, const Message& message) {
  const auto span = [](std::uint64_t ns) {
    return Duration::from_ns(static_cast<std::int64_t>(ns));
  };
  if constexpr (requires { message.waiting; }) {
    return Event{client, gpu, static_cast<core::GrantId>(message.grant), message.waiting != 0,
                 span(message.quiet_ns)};
  } else if constexpr (requires { message.quiet_ns; }) {
    return Event{client, gpu, static_cast<core::GrantId>(message.grant), span(message.quiet_ns)};
  } else if constexpr (requires { message.since_ns; }) {
    return Event{client, gpu, static_cast<core::GrantId>(message.grant), span(message.since_ns)};
  } else if constexpr (requires { message.grant; }) {
    return Event{client, gpu, static_cast<core::GrantId>(message.grant)};
  } else {
    return Event{client, gpu};
  }
}

HeldMemory held_memory(const wire::Holds& holds) {
  const bool is_unified = (holds.flags & wire::kUnified) != 0;
  const std::uint64_t told = is_unified ? std::min(holds.resident, holds.managed) : 0;
  return {.resident = holds.resident,
          .away = holds.away,
          .fixed = holds.fixed,
          .asked = holds.asked,
          .clean = holds.clean,
          .host = holds.host,
          .copied_out = holds.copied_out,
          .copied_in = holds.copied_in,
          .managed = holds.managed,
          .loose = holds.managed - told,
          .early = holds.early};
}

}  // namespace

Verdict check_packet(const void* packet, std::size_t size, std::optional<wire::Type>& type) {
  if (size > wire::kPacketMax) return garbage("a packet is longer than any message");
  const wire::Arrival arrival = wire::inspect(packet, size, wire::Sender::client);
  switch (arrival.fault) {
    case wire::Fault::none:
      type = arrival.type;
      return std::nullopt;
    case wire::Fault::version:
      return Fault{wire::GoodbyeReason::version, wire::text_of(arrival.fault)};
    case wire::Fault::unknown_type: {
      wire::Header header{};
      std::memcpy(&header, packet, sizeof header);
      if (header.version > wire::kVersion) return std::nullopt;
      break;
    }
    default:
      break;
  }
  return garbage(wire::text_of(arrival.fault));
}

core::MemoryHeld memory_held(core::ClientId client, core::GpuId gpu, const wire::Holds& holds) {
  return {.client = client,
          .gpu = gpu,
          .number = holds.number,
          .resident = holds.resident,
          .away = holds.away,
          .fixed = holds.fixed,
          .asked = holds.asked,
          .is_short = (holds.flags & wire::kShort) != 0,
          .is_faulted = (holds.flags & wire::kFaulted) != 0,
          .stays = (holds.flags & wire::kStays) != 0,
          .reached = (holds.flags & wire::kReached) != 0};
}

Verdict Messages::take(Instant now, const Sender& sender, wire::Type type, const void* packet,
                       std::size_t size, Effects& effects) {
  const Context context{now, sender, effects};
  switch (type) {
    case wire::Type::UseGpu:
      return decode_and_take<wire::UseGpu>(context, packet, size);
    case wire::Type::Want:
      return decode_and_take<wire::Want>(context, packet, size);
    case wire::Type::Idle:
      return decode_and_take<wire::Idle>(context, packet, size);
    case wire::Type::Busy:
      return decode_and_take<wire::Busy>(context, packet, size);
    case wire::Type::Drained:
      return decode_and_take<wire::Drained>(context, packet, size);
    case wire::Type::Draining:
      return decode_and_take<wire::Draining>(context, packet, size);
    case wire::Type::Stalled:
      return decode_and_take<wire::Stalled>(context, packet, size);
    case wire::Type::Refused:
      return decode_and_take<wire::Refused>(context, packet, size);
    case wire::Type::Usage:
      return decode_and_take<wire::Usage>(context, packet, size);
    case wire::Type::Ping:
      return decode_and_take<wire::Ping>(context, packet, size);
    case wire::Type::NeedHost:
      return decode_and_take<wire::NeedHost>(context, packet, size);
    case wire::Type::HostDone:
      return decode_and_take<wire::HostDone>(context, packet, size);
    case wire::Type::Holds:
      return decode_and_take<wire::Holds>(context, packet, size);
    case wire::Type::KeptHost:
      return decode_and_take<wire::KeptHost>(context, packet, size);
    case wire::Type::LackHost:
      return decode_and_take<wire::LackHost>(context, packet, size);
    default:
      return garbage("a second Hello");
  }
}

template <class Message>
Verdict Messages::decode_and_take(const Context& context, const void* packet, std::size_t size) {
  Message message;
  if (!wire::decode(packet, size, message)) return garbage(wire::text_of(wire::Fault::field));
  return take_message(context, message);
}

// A message about a GPU, as the event of that name. About GPUs that the daemon does not manage
// there is nothing to do.
template <class Event, class Message>
Verdict Messages::feed(const Context& context, const Message& message) {
  const Session& session = context.sender.session;
  if (!session.is_declared(message.ordinal)) return garbage(kUnnamedGpu);
  const auto gpu = session.gpu_of(message.ordinal);
  if (gpu) {
    node_.step(context.now, event_of<Event>(session.id(), *gpu, message), context.effects);
  }
  return std::nullopt;
}

std::optional<core::GpuId> Messages::gpu_for(const Context& context, const UuidBytes& uuid) {
  const auto known = node_.gpus().find(uuid);
  if (known) return known;
  const bool may_teach =
      teachers_ == Teachers::anybody || may_administer(context.sender.peer, self_);
  if (!may_teach || node_.gpus().is_full()) return std::nullopt;
  return node_.add_gpu(context.now, unknown_gpu(uuid), Node::Origin::learnt, context.effects);
}

Verdict Messages::take_message(const Context& context, const wire::UseGpu& use) {
  UuidBytes uuid;
  std::copy(std::begin(use.uuid), std::end(use.uuid), uuid.begin());
  if (uuid == UuidBytes{}) return garbage("a GPU without a UUID");
  Session& session = context.sender.session;
  const auto gpu = gpu_for(context, uuid);
  const Session::Declared declared = session.declare(use.ordinal, gpu);
  if (declared == Session::Declared::conflict) {
    return garbage("it gives one number to two GPUs, or two numbers to one");
  }
  if (declared == Session::Declared::fresh) {
    log(Level::info, "client uses a GPU",
        fields_of(node_.clients().at(context.sender.tenant),
                  {{"pid", context.sender.peer.pid},
                   {"client", static_cast<std::uint64_t>(session.id())},
                   {"gpu", gpu ? node_.gpus().at(*gpu).gpu.uuid : uuid_text("GPU", uuid)},
                   {"ordinal", use.ordinal},
                   {"managed", gpu.has_value()},
                   {"gate_open", (use.flags & wire::kGateOpen) != 0}}));
  }
  wire::GpuKnown answer;
  answer.ordinal = use.ordinal;
  answer.known = gpu ? 1 : 0;
  answer.gpu = gpu ? static_cast<wire::u32>(core::index_of(*gpu)) : 0;
  session.send(answer);
  if (!gpu || declared == Session::Declared::again) return std::nullopt;
  node_.memory().use(session.id(), context.sender.tenant, *gpu);
  if (use.used_ns > 0) {
    node_.bill_earlier(context.now, context.sender.tenant, *gpu, use.used_ns);
  }
  if ((use.flags & wire::kGateOpen) != 0) {
    node_.step(context.now, node_.found_open(context.now, session.id(), *gpu), context.effects);
  }
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::Want& want) {
  return feed<core::Wanted>(context, want);
}
Verdict Messages::take_message(const Context& context, const wire::Idle& idle) {
  return feed<core::WentIdle>(context, idle);
}
Verdict Messages::take_message(const Context& context, const wire::Busy& busy) {
  return feed<core::WentBusy>(context, busy);
}

Verdict Messages::take_message(const Context& context, const wire::Drained& drained) {
  return feed<core::Drained>(context, drained);
}

Verdict Messages::take_message(const Context& context, const wire::Draining& draining) {
  const Session& session = context.sender.session;
  if (!session.is_declared(draining.ordinal)) return garbage(kUnnamedGpu);
  const auto gpu = session.gpu_of(draining.ordinal);
  if (!gpu) return std::nullopt;
  const auto remaining = Duration::from_ns(static_cast<std::int64_t>(draining.remaining_ns));
  const auto grant = core::GrantId{draining.grant};
  node_.step(context.now, core::StillDraining{session.id(), *gpu, grant, remaining},
             context.effects);
  return std::nullopt;
}

// One message can let in all that waits at the gates of a tenant, which may have a thousand. What
// is too much only says that the client is alive: one that is in earnest says it again.
Verdict Messages::take_message(const Context& context, const wire::Stalled& stalled) {
  const auto& [session, tenant, peer, budgets] = context.sender;
  const bool may_let_in = budgets == nullptr || budgets->let_ins.is_open(context.now);
  if (!may_let_in || !session.take_stall(context.now)) {
    return feed<core::StillDraining>(context, stalled);
  }
  const std::size_t before = context.effects.size();
  const Verdict verdict = feed<core::DrainStalled>(context, stalled);
  const std::size_t gates =
      node_.clients().at(tenant).clients.size() * static_cast<std::size_t>(session.gpus());
  const std::size_t cost = 1 + gates / kGatesPerPacket + context.effects.size() - before;
  if (budgets != nullptr) budgets->let_ins.charge(context.now, cost);
  return verdict;
}
Verdict Messages::take_message(const Context& context, const wire::Refused& refused) {
  return feed<core::DrainRefused>(context, refused);
}

Verdict Messages::take_message(const Context& context, const wire::Usage& usage) {
  const Session& session = context.sender.session;
  if (!session.is_declared(usage.ordinal)) return garbage(kUnnamedGpu);
  const auto gpu = session.gpu_of(usage.ordinal);
  if (gpu) node_.clients().client(session.id()).memory_bytes[*gpu] = usage.memory_bytes;
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::Holds& holds) {
  const Session& session = context.sender.session;
  if (!session.is_declared(holds.ordinal)) return garbage(kUnnamedGpu);
  const auto gpu = session.gpu_of(holds.ordinal);
  if (!gpu) return std::nullopt;
  if ((holds.flags & wire::kFaulted) != 0) node_.note_fault(session.id(), *gpu, holds.fixed);
  node_.hold(context.now, session.id(), *gpu, held_memory(holds));
  node_.step(context.now, memory_held(session.id(), *gpu, holds), context.effects);
  if (OriginBudgets* budgets = context.sender.budgets) {
    budgets->messages.charge(context.now, node_.tenants_on(*gpu) / kTenantsPerMessage);
  }
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::Ping& ping) {
  wire::Pong answer;
  answer.number = ping.number;
  context.sender.session.send(answer);
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::NeedHost& need) {
  host_.need(context.sender.session.id(), need);
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::HostDone& done) {
  if (host_.give_back(context.sender.session.id(), done)) return std::nullopt;
  return garbage("it gives back host memory that it does not have");
}

Verdict Messages::take_message(const Context& context, const wire::KeptHost& kept) {
  host_.keep(context.sender.session.id(), kept);
  return std::nullopt;
}

Verdict Messages::take_message(const Context& context, const wire::LackHost& lack) {
  host_.lack(context.sender.session.id(), lack);
  return std::nullopt;
}

}  // namespace nvs::daemon
