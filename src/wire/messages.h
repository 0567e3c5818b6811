// SPDX-License-Identifier: Apache-2.0
// The messages between the library and the daemon as structs, expanded from spec/wire_messages.def.
// They are what goes over the wire, byte for byte; codec.h checks what comes in. Nothing here needs
// a C++ library: the interposer uses it.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace nvs::wire {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

// Either side may be one version older than the other.
inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::uint16_t kOldestVersion = 1;
static_assert(kOldestVersion <= kVersion && kVersion <= kOldestVersion + 1);
inline constexpr std::uint32_t kGpusMax = 30;  // of one client
// How often a client that drains says that it is alive.
inline constexpr std::int64_t kDrainingEvery_ns = 50'000'000;

// Of any span of time that somebody tells.
inline constexpr std::uint64_t kLongest_ns = 3'600'000'000'000;

// Segments of host memory are whole huge pages.
inline constexpr std::uint64_t kHostSegmentUnit = std::uint64_t{2} << 20U;
inline constexpr std::uint64_t kHostBytesMax = std::uint64_t{1} << 50U;  // of one message
// More memory than any GPU has, so that sums do not overflow.
inline constexpr std::uint64_t kGpuBytesMax = std::uint64_t{1} << 50U;
// Of memory that is shared: 64 GiB of it.
inline constexpr std::uint32_t kSharedChunksMax = 1024;

// The names of the sockets below the daemon's folder. The tenants' one is alone in a folder of its
// own, which is all that containers get, and so is that of the device plugin.
inline constexpr const char* kDefaultFolder = "/var/run/nvshare";
inline constexpr const char* kTenantSocket = "tenant/scheduler.sock";
inline constexpr const char* kAdminSocket = "admin.sock";
inline constexpr const char* kPluginSocket = "plugin/plugin.sock";

struct Header {
  std::uint16_t version;
  std::uint16_t type;
  std::uint32_t length;  // of the whole packet
};
static_assert(sizeof(Header) == 8);

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class Type : std::uint16_t {
#define NVS_WIRE_ROW(name, number, sender) name = (number),
#include "wire/rows.inc"
#undef NVS_WIRE_ROW
};

enum class Sender : std::uint8_t { client, daemon };

#define NVS_MESSAGE(name, number, sender)     \
  struct name {                               \
    static constexpr Type kType = Type::name; \
    static constexpr Sender kSender = Sender::sender;
#define NVS_FIELD(message, type, name) type name = 0;
#define NVS_TEXT(message, name, bytes) char name[bytes] = {};
#define NVS_BYTES(message, name, bytes) std::uint8_t name[bytes] = {};
#define NVS_MESSAGE_END(name)                                                           \
  }                                                                                     \
  ;                                                                                     \
  static_assert(std::is_trivially_copyable_v<name> && std::is_standard_layout_v<name>); \
  static_assert(std::has_unique_object_representations_v<name>, "a message has no gaps");
#include "spec/wire_messages.def"
#undef NVS_MESSAGE
#undef NVS_FIELD
#undef NVS_TEXT
#undef NVS_BYTES
#undef NVS_MESSAGE_END

enum HelloFlag : u32 {
  kPaused = 1,       // an earlier daemon had paused its tenant
  kLimitsOfRun = 2,  // both limits are what `nvshare run` was told, not what the environment had
  kMemoryOfRun = 4,  // that of memory is
  kCoresOfRun = 8,   // that of compute is
};
enum class WirePriority : u32 { unset = 0, low = 1, normal = 2, high = 3 };
enum UseGpuFlag : u32 {
  kGateOpen = 1,  // it submits work there already
};
enum OpenFlag : u32 {
  kBounded = 1,
  kAwaited = 2,
  kCapped = 4,    // its time is counted: say at once when idle, and since when
  kTookOver = 8,  // another tenant had the GPU before: it turns to this one first
};
enum HoldsFlag : u32 {
  kShort = 1,     // the driver has no memory left, although less than what is allowed is used
  kUnified = 2,   // what can be moved is Unified Memory: it leaves only when others need its room
  kFaulted = 4,   // all contexts there are lost: it runs nothing, and what it has stays
  kStays = 8,     // nothing of it can leave just now: it says so again when it can be tried
  kReached = 16,  // other GPUs of the process may work on it
};
enum AllowFlag : u32 {
  kShared = 1,  // others use the GPU too
};
enum class HostDenial : u32 {
  no_pool = 1,    // the daemon lends no host memory
  full = 2,       // all that it may lend is lent
  share = 3,      // what is left is kept for other tenants
  no_memory = 4,  // the system has none
};
enum class GoodbyeReason : u32 { version = 1, garbage = 2, too_many = 3, stopping = 4 };

}  // namespace nvs::wire
