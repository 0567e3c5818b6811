// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <string.h>

namespace nvs::wire {
namespace {

template <class Message>
std::string bytes_of(const Packet<Message>& packet) {
  return {reinterpret_cast<const char*>(&packet), sizeof packet};
}

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

Fault fault_of(const std::string& bytes, Sender sender = Sender::client) {
  return inspect(bytes.data(), bytes.size(), sender).fault;
}

void set_u16(std::string& bytes, std::size_t at, unsigned value) {
  bytes[at] = static_cast<char>(value & 0xffU);
  bytes[at + 1] = static_cast<char>(value >> 8U);
}
void set_length(std::string& bytes) { set_u16(bytes, 4, static_cast<unsigned>(bytes.size())); }

TEST(Codec, BytesOnTheWireArePinned) {
  EXPECT_EQ(hex(bytes_of(Packet<Want>{.message = {.ordinal = 3}})),
            "0200030010000000"
            "0300000000000000");
  EXPECT_EQ(hex(bytes_of(Packet<Open>{.message = {.ordinal = 1,
                                                  .flags = kBounded | kAwaited,
                                                  .grant = 0x1122334455667788,
                                                  .queue_bound_ns = 2'000'000}})),
            "0200420020000000"
            "01000000030000008877665544332211"
            "80841e0000000000");
  EXPECT_EQ(hex(bytes_of(Packet<NeedHost>{.message = {.request = 5, .bytes = 1}})),
            "0200100018000000"
            "05000000000000000100000000000000");
  EXPECT_EQ(hex(bytes_of(Packet<HostDone>{.message = {.segment = 7}})),
            "0200110010000000"
            "0700000000000000");
  EXPECT_EQ(hex(bytes_of(Packet<HostSegment>{
                .message = {.request = 5, .segment = 7, .bytes = kHostSegmentUnit}})),
            "0200500020000000"
            "05000000000000000700000000000000"
            "0000200000000000");
  EXPECT_EQ(
      hex(bytes_of(Packet<HostDenied>{
          .message = {.reason = static_cast<u32>(HostDenial::share), .request = 5, .bytes = 1}})),
      "0200510020000000"
      "03000000000000000500000000000000"
      "0100000000000000");
  EXPECT_EQ(sizeof(Packet<Hello>), 8U + 16U + 64U + 128U + 64U + 32U + 16U + 64U);
  EXPECT_EQ(sizeof(Packet<UseGpu>), 8U + 8U + 16U + 8U);
  EXPECT_EQ(sizeof(Packet<Goodbye>), 8U + 8U + 120U);
}

TEST(Codec, WhatIsSentArrives) {
  Packet<Hello> sent;
  sent.message.run = 7;
  memcpy(sent.message.program, "train.py", 9);
  const std::string bytes = bytes_of(sent);
  const Arrival arrival = inspect(bytes.data(), bytes.size(), Sender::client);
  ASSERT_EQ(arrival.fault, Fault::none);
  ASSERT_EQ(arrival.type, Type::Hello);
  Hello hello;
  ASSERT_TRUE(decode(bytes.data(), bytes.size(), hello));
  EXPECT_EQ(hello.run, 7U);
  EXPECT_STREQ(hello.program, "train.py");
}

TEST(Codec, EveryCutAndEveryLengthIsRefused) {
  const std::string whole = bytes_of(Packet<Drained>{.message = {.ordinal = 2, .grant = 9}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string cut = whole.substr(0, size);
    EXPECT_NE(fault_of(cut), Fault::none) << size;
    if (size < sizeof(Header)) continue;
    set_length(cut);
    EXPECT_EQ(fault_of(cut), Fault::length) << size;
  }
  std::string longer = whole + "x";
  EXPECT_EQ(fault_of(longer), Fault::length);
  set_length(longer);
  EXPECT_EQ(fault_of(longer), Fault::length);
}

TEST(Codec, NeighbouringVersionsMayHaveOtherLengths) {
  std::string newer = bytes_of(Packet<Want>{.message = {.ordinal = 3}}) + "new field";
  set_u16(newer, 0, kVersion + 1);
  set_length(newer);
  ASSERT_EQ(fault_of(newer), Fault::none);
  Want want;
  ASSERT_TRUE(decode(newer.data(), newer.size(), want));
  EXPECT_EQ(want.ordinal, 3U);

  std::string older =
      bytes_of(Packet<Drained>{.message = {.ordinal = 2, .waiting = 1, .grant = 9}});
  older.resize(older.size() - 16);
  Drained drained;
  drained.grant = 77;
  ASSERT_TRUE(decode(older.data(), older.size(), drained));
  EXPECT_EQ(drained.waiting, 1U);
  EXPECT_EQ(drained.grant, 0U);
}

TEST(Codec, VersionsThatAreTooFarAreRefused) {
  std::string bytes = bytes_of(Packet<Want>{});
  for (const unsigned version : {kOldestVersion - 1, kVersion + 2, 0, 0xffff}) {
    set_u16(bytes, 0, version);
    EXPECT_EQ(fault_of(bytes), Fault::version) << version;
  }
  for (const unsigned version : {+kOldestVersion, +kVersion, kVersion + 1}) {
    set_u16(bytes, 0, version);
    EXPECT_EQ(fault_of(bytes), Fault::none) << version;
  }
}

TEST(Codec, UnknownTypesAndTheWrongSideAreTold) {
  std::string bytes = bytes_of(Packet<Want>{});
  set_u16(bytes, 2, 999);
  EXPECT_EQ(fault_of(bytes), Fault::unknown_type);
  EXPECT_EQ(fault_of(bytes_of(Packet<Open>{}), Sender::client), Fault::wrong_sender);
  EXPECT_EQ(fault_of(bytes_of(Packet<Want>{}), Sender::daemon), Fault::wrong_sender);
}

template <class Message>
bool accepts(const Message& message) {
  const std::string bytes = bytes_of(Packet<Message>{.message = message});
  Message back;
  return decode(bytes.data(), bytes.size(), back);
}

TEST(Codec, FieldsOutOfRangeAreRefused) {
  EXPECT_TRUE(accepts(Want{.ordinal = kGpusMax - 1}));
  EXPECT_FALSE(accepts(Want{.ordinal = kGpusMax}));
  EXPECT_FALSE(accepts(UseGpu{.ordinal = ~0U}));
  EXPECT_FALSE(accepts(Drained{.waiting = 2}));
  EXPECT_FALSE(accepts(Hello{.priority = 4}));
  EXPECT_FALSE(accepts(GpuKnown{.known = 2}));
  EXPECT_FALSE(accepts(Pause{.paused = 2}));
  EXPECT_FALSE(accepts(Open{.queue_bound_ns = ~0ULL}));
  EXPECT_FALSE(accepts(Draining{.remaining_ns = ~0ULL}));
  EXPECT_FALSE(accepts(GetReady{.in_ns = ~0ULL}));
  EXPECT_TRUE(accepts(NeedHost{.bytes = 1}));
  EXPECT_TRUE(accepts(NeedHost{.bytes = kHostBytesMax}));
  EXPECT_FALSE(accepts(NeedHost{.bytes = 0}));
  EXPECT_FALSE(accepts(NeedHost{.bytes = kHostBytesMax + 1}));
  EXPECT_TRUE(accepts(HostSegment{.bytes = kHostSegmentUnit}));
  EXPECT_FALSE(accepts(HostSegment{.bytes = 0}));
  EXPECT_FALSE(accepts(HostSegment{.bytes = kHostSegmentUnit + 4096}));
  EXPECT_FALSE(accepts(HostSegment{.bytes = ~0ULL - kHostSegmentUnit + 1}));
  EXPECT_TRUE(accepts(HostDenied{.reason = 4, .bytes = 1}));
  EXPECT_FALSE(accepts(HostDenied{.reason = 0, .bytes = 1}));
  EXPECT_FALSE(accepts(HostDenied{.reason = 1, .bytes = 0}));
  EXPECT_TRUE(accepts(KeptHost{kHostBytesMax}));
  EXPECT_FALSE(accepts(KeptHost{kHostBytesMax + 1}));
  EXPECT_TRUE(accepts(LackHost{kHostBytesMax}));
  EXPECT_FALSE(accepts(LackHost{kHostBytesMax + 1}));
  EXPECT_TRUE(accepts(HostShort{.is_short = 1}));
  EXPECT_FALSE(accepts(HostShort{.is_short = 2}));
  EXPECT_TRUE(accepts(Holds{.resident = 2, .clean = 2}));
  EXPECT_FALSE(accepts(Holds{.resident = 2, .clean = 3}));
  EXPECT_FALSE(accepts(Holds{.ordinal = kGpusMax}));
  EXPECT_FALSE(accepts(Holds{.resident = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Holds{.away = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Holds{.fixed = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Holds{.asked = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Holds{.host = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Holds{.managed = kGpuBytesMax + 1}));
  EXPECT_TRUE(accepts(Holds{.fixed = 1, .early = 1}));
  EXPECT_FALSE(accepts(Holds{.fixed = 1, .early = 2}));
  EXPECT_TRUE(accepts(Allow{.number = 1, .bytes = kGpuBytesMax}));
  EXPECT_FALSE(accepts(Allow{.number = 0, .bytes = 1}));
  EXPECT_FALSE(accepts(Allow{.number = 1, .bytes = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Allow{.ordinal = kGpusMax, .number = 1}));
  EXPECT_TRUE(accepts(Visible{.total = 1, .limit = kGpuBytesMax}));
  EXPECT_FALSE(accepts(Visible{.total = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Visible{.limit = kGpuBytesMax + 1}));
  EXPECT_FALSE(accepts(Visible{.ordinal = kGpusMax}));
}

// Whoever takes a text would read on behind the message.
template <class Message>
void expect_its_end_is_checked(const char* what, std::size_t at, std::size_t size) {
  Message message;
  char* const text = reinterpret_cast<char*>(&message) + at;
  memset(text, 'a', size - 1);
  EXPECT_TRUE(accepts(message)) << what;
  text[size - 1] = 'a';
  EXPECT_FALSE(accepts(message)) << what;
}

TEST(Codec, EveryTextOfEveryMessageMustEnd) {
  int texts = 0;
#define NVS_MESSAGE(name, number, sender)
#define NVS_FIELD(message, type, name)
#define NVS_TEXT(message, name, bytes)                                                    \
  expect_its_end_is_checked<message>(#message "." #name, offsetof(message, name), bytes); \
  ++texts;
#define NVS_BYTES(message, name, bytes)
#define NVS_MESSAGE_END(name)
#include "spec/wire_messages.def"
#undef NVS_MESSAGE
#undef NVS_FIELD
#undef NVS_TEXT
#undef NVS_BYTES
#undef NVS_MESSAGE_END
  EXPECT_GT(texts, 0);
}

}  // namespace
}  // namespace nvs::wire
