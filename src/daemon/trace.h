// SPDX-License-Identifier: Apache-2.0
// The timeline of windows: which tenant had or wanted which GPU, and when, for the last minutes. It
// is told everything that goes into and comes out of the core, and keeps a ring of intervals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/ids.h"
#include "daemon/ring.h"

namespace nvs::daemon {

enum class TraceKind : std::uint8_t {
  open,   // at least one of the tenant's clients may submit work
  drain,  // all were told to close, and at least one has not drained
  wait,   // it wants the GPU and has no window
};

struct TraceInterval {
  core::GpuId gpu{};
  core::TenantId tenant{};
  std::uint32_t clients = 0;  // the most that were open, draining or waiting at a time
  TraceKind kind = TraceKind::open;
  Instant start;
  Instant end;

  bool operator==(const TraceInterval&) const = default;
};

struct TraceExtract {
  std::vector<TraceInterval> intervals;  // ordered by start
  bool is_cut = false;                   // there would have been more, older ones
};

class Trace {
 public:
  static constexpr std::size_t kIntervalsMax = 200'000;

  explicit Trace(std::size_t intervals_max = kIntervalsMax);

  // Each event before it is given to the core, each effect after the core gave it.
  void record(Instant now, const core::Event& event);
  void record(Instant now, const core::Effect& effect);

  // What touches the time from `now - last` on, and of that the newest `max`; what is not over ends
  // now. To sort and write all that is kept would take several windows.
  TraceExtract last(Instant now, Duration last, std::size_t max = kIntervalsMax) const;

 private:
  // A client's gate on one GPU, as far as the daemon has been told.
  enum class Gate : std::uint8_t { shut, waiting, open, draining };
  struct ClientOnGpu {
    Gate gate = Gate::shut;
    core::GrantId grant{};  // of its window; answers about others are late
    bool wants = false;     // said in its window: it waits from the window's end on
  };
  struct Client {
    core::TenantId tenant{};
    std::map<core::GpuId, ClientOnGpu> gpus;
  };
  using Key = std::pair<core::GpuId, core::TenantId>;
  // Kept while one of its clients' gates is not shut.
  struct TenantOnGpu {
    std::array<int, 4> clients{};  // by Gate; of those that are shut the number means nothing
    TraceInterval interval;        // what is under way
  };

  ClientOnGpu* find(core::ClientId client, core::GpuId gpu);
  // If that is the grant of its window.
  ClientOnGpu* with_grant(core::ClientId client, core::GpuId gpu, core::GrantId grant);
  void set_gate(Instant now, core::ClientId client, core::GpuId gpu, Gate gate);
  void follow(Instant now, const Key& key, TenantOnGpu& tenant);

  Ring<TraceInterval> ring_;
  std::unordered_map<core::ClientId, Client> clients_;
  std::map<Key, TenantOnGpu> tenants_;
};

}  // namespace nvs::daemon
