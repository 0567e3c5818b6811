// SPDX-License-Identifier: Apache-2.0
// The timeline of memory, for the last minutes: how much of each GPU's memory a tenant had and
// where it was, and when how much of it moved in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/event.h"
#include "core/ids.h"
#include "daemon/held_memory.h"
#include "daemon/ring.h"

namespace nvs::daemon {

struct MemoryLevels {  // in bytes, as HeldMemory has them
  std::uint64_t resident = 0;
  std::uint64_t away = 0;
  std::uint64_t clean = 0;
  std::uint64_t fixed = 0;
  bool operator==(const MemoryLevels&) const = default;
};

struct MemoryPoint {
  core::GpuId gpu{};
  core::TenantId tenant{};
  Instant at;
  MemoryLevels levels = {};  // from then on
  bool operator==(const MemoryPoint&) const = default;
};

struct MemoryMove {
  enum class Way : std::uint8_t { out, in };
  core::GpuId gpu{};
  core::TenantId tenant{};
  Way way = Way::out;
  Instant start;
  Instant end;
  std::uint64_t bytes = 0;  // so far
  bool operator==(const MemoryMove&) const = default;
};

struct MemoryExtract {
  std::vector<MemoryPoint> points;  // in the order of time
  std::vector<MemoryMove> moves;
};

class MemoryTrace {
 public:
  static constexpr std::size_t kEntriesMax = 100'000;  // of each kind
  // Points of a tenant on a GPU are no closer than this: the later value counts.
  static constexpr Duration kPointsApart = Duration::from_ms(10);
  // Chunks that move with less than this in between are one move.
  static constexpr Duration kMovePause = Duration::from_ms(100);

  explicit MemoryTrace(std::size_t entries_max = kEntriesMax);

  // Each event before it is given to the core: who comes and goes.
  void record(Instant now, const core::Event& event);
  // What a client has of a GPU's memory from now on.
  void hold(Instant now, core::ClientId client, core::GpuId gpu, const HeldMemory& held);

  // What was since `now - last`, and of that the newest `max` of each kind.
  MemoryExtract last(Instant now, Duration last, std::size_t max = kEntriesMax) const;

 private:
  using Key = std::pair<core::GpuId, core::TenantId>;
  struct Client {
    core::TenantId tenant{};
    std::map<core::GpuId, HeldMemory> gpus = {};
  };
  struct TenantOnGpu {
    HeldMemory held = {};       // by all of them
    std::uint64_t clients = 0;  // that have told; with the last one it goes
    Instant heard;
    Instant point_at;
    std::optional<std::uint64_t> point;  // its latest one, by number
    std::optional<MemoryMove> move;      // that goes on, or ended a moment ago
  };

  void leave(Instant now, core::ClientId client);
  void set_held(Instant now, const Key& key, TenantOnGpu& tenant, const HeldMemory& held);
  void follow_move(Instant now, const Key& key, TenantOnGpu& tenant, MemoryMove::Way way,
                   std::uint64_t bytes);
  void end_move(TenantOnGpu& tenant);

  Ring<MemoryPoint> points_;
  Ring<MemoryMove> moves_;
  std::unordered_map<core::ClientId, Client> clients_;
  std::map<Key, TenantOnGpu> tenants_;
};

}  // namespace nvs::daemon
