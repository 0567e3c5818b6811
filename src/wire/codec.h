// SPDX-License-Identifier: Apache-2.0
// From messages to packets and back. Whatever comes in is checked here: version, type, length,
// ranges of fields, ends of texts. What passes can be used without another look.
#pragma once

#include <cstddef>

#include "wire/messages.h"

namespace nvs::wire {

inline constexpr std::size_t kPacketMax = 512;

template <class Message>
struct Packet {
  Header header{kVersion, static_cast<std::uint16_t>(Message::kType), sizeof(Packet)};
  Message message;
};

enum class Fault : std::uint8_t {
  none,
  too_short,     // not even a header
  length,        // the header's length is not that of the packet, or not that of the type
  version,       // more than one version apart
  unknown_type,  // from a newer version it is skipped, else it is garbage
  wrong_sender,  // a message that only the other side may send
  field,         // a field is out of its range
};
const char* text_of(Fault fault);

// What a packet is, as far as its header tells. `sender`: who sent it.
struct Arrival {
  Fault fault = Fault::none;
  Type type{};
};
Arrival inspect(const void* packet, std::size_t size, Sender sender);

// The message of a packet that inspect() found to be of that type. Fields that an older sender does
// not know are zero. False: a field is out of range.
template <class Message>
bool decode(const void* packet, std::size_t size, Message& message);

// These are used by the template above, and defined for every message. What is a text is in spec/:
// has_its_ends() looks at all of them, and is_valid() at what has a range.
void copy_fields(const void* packet, std::size_t size, void* message, std::size_t message_size);
#define NVS_WIRE_ROW(name, number, sender) \
  bool has_its_ends(const name& message);  \
  bool is_valid(const name& message);
#include "wire/rows.inc"
#undef NVS_WIRE_ROW

template <class Message>
bool decode(const void* packet, std::size_t size, Message& message) {
  static_assert(sizeof(Packet<Message>) <= kPacketMax);
  copy_fields(packet, size, &message, sizeof message);
  return has_its_ends(message) && is_valid(message);
}

}  // namespace nvs::wire
