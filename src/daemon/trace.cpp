// SPDX-License-Identifier: Apache-2.0
#include "daemon/trace.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace nvs::daemon {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

Trace::Trace(std::size_t intervals_max) : ring_(intervals_max) {}

void Trace::record(Instant now, const core::Event& event) {
  const auto visitor = Overloaded{
      [&](const core::ClientJoined& joined) { clients_[joined.client].tenant = joined.tenant; },
      [&](const core::ClientLeft& left) {
        const auto client = clients_.find(left.client);
        if (client == clients_.end()) return;
        for (const auto& [gpu, on_gpu] : client->second.gpus)
          set_gate(now, left.client, gpu, Gate::shut);
        clients_.erase(client);
      },
      [&](const core::Wanted& wanted) {
        ClientOnGpu* on_gpu = find(wanted.client, wanted.gpu);
        if (on_gpu == nullptr || on_gpu->gate == Gate::shut)
          set_gate(now, wanted.client, wanted.gpu, Gate::waiting);
        else
          on_gpu->wants = on_gpu->gate != Gate::waiting;
      },
      [&](const core::FoundOpen& found) { set_gate(now, found.client, found.gpu, Gate::open); },
      [&](const core::Drained& drained) {
        // Unasked, of an open window: it is given up.
        ClientOnGpu* on_gpu = with_grant(drained.client, drained.gpu, drained.grant);
        if (on_gpu == nullptr) return;
        const bool wants = std::exchange(on_gpu->wants, false) || drained.waiting;
        const Gate next = wants ? Gate::waiting : Gate::shut;
        set_gate(now, drained.client, drained.gpu, next);
      },
      [&](const core::DrainRefused& refused) {
        ClientOnGpu* on_gpu = with_grant(refused.client, refused.gpu, refused.grant);
        if (on_gpu == nullptr) return;
        on_gpu->wants = false;
        set_gate(now, refused.client, refused.gpu, Gate::open);
      },
      [](const auto&) {},
  };
  std::visit(visitor, event);
}

void Trace::record(Instant now, const core::Effect& effect) {
  const auto visitor = Overloaded{
      [&](const core::OpenWindow& open) {
        set_gate(now, open.client, open.gpu, Gate::open);
        if (ClientOnGpu* on_gpu = find(open.client, open.gpu)) {
          on_gpu->grant = open.grant;
          on_gpu->wants = false;
        }
      },
      [&](const core::CloseWindow& close) {
        set_gate(now, close.client, close.gpu, Gate::draining);
        if (ClientOnGpu* on_gpu = find(close.client, close.gpu)) on_gpu->grant = close.grant;
      },
      [](const auto&) {},
  };
  std::visit(visitor, effect);
}

TraceExtract Trace::last(Instant now, Duration last, std::size_t max) const {
  const Instant since = now - last;
  TraceExtract extract;
  std::vector<TraceInterval>& intervals = extract.intervals;
  for (const auto& [key, tenant] : tenants_) {
    if (intervals.size() == max) break;
    intervals.push_back(tenant.interval);
    intervals.back().end = std::max(now, tenant.interval.start);
  }
  // The ring is in the order of ends: from the newest back, nothing follows the first that is too
  // old. The order of starts is nearly the reverse, which a stable sort makes use of.
  for (std::size_t back = 1; back <= ring_.size(); ++back) {
    const TraceInterval& interval = ring_.from_end(back);
    if (interval.end < since) break;
    extract.is_cut = intervals.size() == max;
    if (extract.is_cut) break;
    intervals.push_back(interval);
  }
  std::reverse(intervals.begin(), intervals.end());
  std::stable_sort(intervals.begin(), intervals.end(), [](const auto& a, const auto& b) {
    return std::tie(a.start, a.gpu, a.tenant, a.end) < std::tie(b.start, b.gpu, b.tenant, b.end);
  });
  return extract;
}

Trace::ClientOnGpu* Trace::find(core::ClientId client, core::GpuId gpu) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return nullptr;
  const auto on_gpu = found->second.gpus.find(gpu);
  return on_gpu != found->second.gpus.end() ? &on_gpu->second : nullptr;
}

Trace::ClientOnGpu* Trace::with_grant(core::ClientId client, core::GpuId gpu, core::GrantId grant) {
  ClientOnGpu* on_gpu = find(client, gpu);
  if (on_gpu == nullptr || on_gpu->grant != grant) return nullptr;
  const bool has_window = on_gpu->gate == Gate::open || on_gpu->gate == Gate::draining;
  return has_window ? on_gpu : nullptr;
}

void Trace::set_gate(Instant now, core::ClientId client, core::GpuId gpu, Gate gate) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  Gate& current = found->second.gpus[gpu].gate;
  const auto key = std::pair(gpu, found->second.tenant);
  TenantOnGpu& tenant = tenants_[key];
  --tenant.clients.at(static_cast<std::size_t>(current));
  ++tenant.clients.at(static_cast<std::size_t>(gate));
  current = gate;
  follow(now, key, tenant);
}

void Trace::follow(Instant now, const Key& key, TenantOnGpu& tenant) {
  constexpr std::array<std::pair<Gate, TraceKind>, 3> kStrongestFirst = {
      {{Gate::open, TraceKind::open},
       {Gate::draining, TraceKind::drain},
       {Gate::waiting, TraceKind::wait}}};
  const auto* is = std::find_if(kStrongestFirst.begin(), kStrongestFirst.end(), [&](auto& pair) {
    return tenant.clients.at(static_cast<std::size_t>(pair.first)) > 0;
  });
  const bool nothing = is == kStrongestFirst.end();
  const bool was_something = tenant.interval.clients > 0;
  if (was_something && (nothing || is->second != tenant.interval.kind)) {
    tenant.interval.end = now;
    if (tenant.interval.start < now) ring_.add(tenant.interval);
    tenant.interval = {};
  }
  if (nothing) {
    tenants_.erase(key);
    return;
  }
  const auto count =
      static_cast<std::uint32_t>(tenant.clients.at(static_cast<std::size_t>(is->first)));
  if (tenant.interval.clients == 0)
    tenant.interval = {
        .gpu = key.first, .tenant = key.second, .kind = is->second, .start = now, .end = now};
  tenant.interval.clients = std::max(tenant.interval.clients, count);
}

}  // namespace nvs::daemon
