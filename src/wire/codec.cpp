// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include <string.h>

#include "wire/memory_account.h"

namespace nvs::wire {
namespace {

struct Shape {
  Type type;
  Sender sender;
  std::size_t size;  // of the packet, in our version
};

constexpr Shape kShapes[] = {
#define NVS_WIRE_ROW(name, number, sender) {Type::name, Sender::sender, sizeof(Packet<name>)},
#include "wire/rows.inc"
#undef NVS_WIRE_ROW
};

const Shape* shape_of(std::uint16_t type) {
  for (const Shape& shape : kShapes) {
    if (static_cast<std::uint16_t>(shape.type) == type) return &shape;
  }
  return nullptr;
}

bool is_near(std::uint16_t version) { return version >= kOldestVersion && version <= kVersion + 1; }

// A newer sender may have more fields than we know, an older one fewer.
bool has_length(const Header& header, const Shape& shape) {
  if (header.version > kVersion) return header.length >= shape.size;
  if (header.version < kVersion) return header.length <= shape.size;
  return header.length == shape.size;
}

template <std::size_t bytes>
bool ends(const char (&text)[bytes]) {
  return text[bytes - 1] == 0;
}

constexpr bool is_size(u64 bytes) { return bytes > 0 && bytes <= kHostBytesMax; }

constexpr bool fits(u32 ordinal) { return ordinal < kGpusMax; }

}  // namespace

const char* text_of(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "no fault";
    case Fault::too_short:
      return "shorter than a header";
    case Fault::length:
      return "wrong length";
    case Fault::version:
      return "version too far from ours";
    case Fault::unknown_type:
      return "unknown type";
    case Fault::wrong_sender:
      return "a message of the other side";
    case Fault::field:
      return "a field out of its range";
  }
  return "unknown fault";
}

Arrival inspect(const void* packet, std::size_t size, Sender sender) {
  Header header{};
  if (size < sizeof header) return {Fault::too_short, {}};
  memcpy(&header, packet, sizeof header);
  if (header.length != size) return {Fault::length, {}};
  if (!is_near(header.version)) return {Fault::version, {}};
  const Shape* shape = shape_of(header.type);
  if (shape == nullptr) return {Fault::unknown_type, {}};
  if (shape->sender != sender) return {Fault::wrong_sender, shape->type};
  if (!has_length(header, *shape)) return {Fault::length, shape->type};
  return {Fault::none, shape->type};
}

void copy_fields(const void* packet, std::size_t size, void* message, std::size_t message_size) {
  const std::size_t sent = size - sizeof(Header);
  const std::size_t copied = sent < message_size ? sent : message_size;
  memset(message, 0, message_size);
  memcpy(message, static_cast<const char*>(packet) + sizeof(Header), copied);
}

#define NVS_MESSAGE(name, number, sender)              \
  bool has_its_ends([[maybe_unused]] const name& it) { \
    return true
#define NVS_FIELD(message, type, name)
#define NVS_TEXT(message, name, bytes) &&ends(it.name)
#define NVS_BYTES(message, name, bytes)
#define NVS_MESSAGE_END(name) \
  ;                           \
  }
#include "spec/wire_messages.def"
#undef NVS_MESSAGE
#undef NVS_FIELD
#undef NVS_TEXT
#undef NVS_BYTES
#undef NVS_MESSAGE_END

bool is_valid(const Hello& hello) { return hello.priority <= static_cast<u32>(WirePriority::high); }
bool is_valid(const UseGpu& use) { return fits(use.ordinal); }
bool is_valid(const Want& want) { return fits(want.ordinal); }
bool is_valid(const Idle& idle) { return fits(idle.ordinal) && idle.quiet_ns <= kLongest_ns; }
bool is_valid(const Busy& busy) { return fits(busy.ordinal) && busy.since_ns <= kLongest_ns; }
bool is_valid(const Drained& drained) {
  return fits(drained.ordinal) && drained.waiting <= 1 && drained.quiet_ns <= kLongest_ns;
}
bool is_valid(const Draining& draining) {
  return fits(draining.ordinal) && draining.remaining_ns <= kLongest_ns;
}
bool is_valid(const Stalled& stalled) { return fits(stalled.ordinal); }
bool is_valid(const Refused& refused) { return fits(refused.ordinal); }
bool is_valid(const Usage& usage) { return fits(usage.ordinal); }
bool is_valid(const Ping&) { return true; }
bool is_valid(const NeedHost& need) { return is_size(need.bytes); }
bool is_valid(const HostDone&) { return true; }
bool is_valid(const Holds& holds) {
  const bool is_sane = holds.resident <= kGpuBytesMax && holds.away <= kGpuBytesMax &&
                       holds.fixed <= kGpuBytesMax && holds.asked <= kGpuBytesMax &&
                       holds.host <= kGpuBytesMax && holds.managed <= kGpuBytesMax;
  return is_sane && fits(holds.ordinal) && holds.clean <= holds.resident &&
         holds.early <= holds.fixed;
}
bool is_valid(const KeptHost& kept) { return kept.bytes <= kHostBytesMax; }
bool is_valid(const ShareMemory& share) {
  return share.index < share.count && share.count <= kSharedChunksMax && is_size(share.bytes);
}
bool is_valid(const UnshareMemory&) { return true; }
bool is_valid(const OpenShared& open) { return open.index < kSharedChunksMax; }
bool is_valid(const LackHost& lack) { return lack.bytes <= kHostBytesMax; }
bool is_valid(const Welcome&) { return true; }
bool is_valid(const GpuKnown& known) {
  return fits(known.ordinal) && known.known <= 1 && known.gpu < kAccountGpus;
}
bool is_valid(const Open& open) { return fits(open.ordinal) && open.queue_bound_ns <= kLongest_ns; }
bool is_valid(const Close& close) { return fits(close.ordinal); }
bool is_valid(const LetIn& let_in) { return fits(let_in.ordinal); }
bool is_valid(const GetReady& ready) { return fits(ready.ordinal) && ready.in_ns <= kLongest_ns; }
bool is_valid(const Pong&) { return true; }
bool is_valid(const Pause& pause) { return pause.paused <= 1; }
bool is_valid(const Goodbye&) { return true; }
bool is_valid(const HostSegment& segment) {
  return is_size(segment.bytes) && segment.bytes % kHostSegmentUnit == 0;
}
// A newer daemon may have other reasons.
bool is_valid(const HostDenied& denied) { return denied.reason != 0 && is_size(denied.bytes); }
bool is_valid(const HostShort& level) { return level.is_short <= 1; }
bool is_valid(const Allow& allow) {
  return fits(allow.ordinal) && allow.number != 0 && allow.bytes <= kGpuBytesMax;
}
bool is_valid(const Visible& visible) {
  return fits(visible.ordinal) && visible.total <= kGpuBytesMax && visible.limit <= kGpuBytesMax;
}
bool is_valid(const SharedChunk& chunk) {
  return chunk.index < chunk.count && chunk.count <= kSharedChunksMax && is_size(chunk.bytes);
}
bool is_valid(const SharedGone&) { return true; }
bool is_valid(const MemoryAccount& account) {
  return account.slot < kAccountSlots && account.bytes >= sizeof(AccountFile);
}

}  // namespace nvs::wire
