// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_trace.h"

#include <algorithm>
#include <variant>

namespace nvs::daemon {
namespace {

std::uint64_t less_by(std::uint64_t before, std::uint64_t after) {
  return before - std::min(before, after);
}

MemoryLevels levels_of(const HeldMemory& held) {
  return {held.resident, held.away, held.clean, held.fixed};
}

}  // namespace

MemoryTrace::MemoryTrace(std::size_t entries_max) : points_(entries_max), moves_(entries_max) {}

void MemoryTrace::record(Instant now, const core::Event& event) {
  if (const auto* joined = std::get_if<core::ClientJoined>(&event)) {
    clients_[joined->client].tenant = joined->tenant;
  } else if (const auto* left = std::get_if<core::ClientLeft>(&event)) {
    leave(now, left->client);
  }
}

void MemoryTrace::hold(Instant now, core::ClientId client, core::GpuId gpu,
                       const HeldMemory& held) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const Key key(gpu, found->second.tenant);
  TenantOnGpu& tenant = tenants_[key];
  const auto [known, is_new] = found->second.gpus.try_emplace(gpu);
  if (is_new) ++tenant.clients;
  const HeldMemory before = std::exchange(known->second, held);
  HeldMemory all = tenant.held;
  all += held;
  all -= before;
  set_held(now, key, tenant, all);
  // What is allocated or freed is not moved: what moves is somewhere else than before.
  const std::uint64_t left =
      std::min(less_by(before.resident, held.resident), less_by(held.away, before.away));
  const std::uint64_t come =
      std::min(less_by(held.resident, before.resident), less_by(before.away, held.away));
  if (left > 0) follow_move(now, key, tenant, MemoryMove::Way::out, left);
  if (come > 0) follow_move(now, key, tenant, MemoryMove::Way::in, come);
  tenant.heard = now;
}

void MemoryTrace::leave(Instant now, core::ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  for (const auto& [gpu, held] : found->second.gpus) {
    const auto on_gpu = tenants_.find({gpu, found->second.tenant});
    TenantOnGpu& tenant = on_gpu->second;
    HeldMemory rest = tenant.held;
    rest -= held;
    set_held(now, on_gpu->first, tenant, rest);
    if (--tenant.clients > 0) continue;
    end_move(tenant);
    tenants_.erase(on_gpu);
  }
  clients_.erase(found);
}

void MemoryTrace::set_held(Instant now, const Key& key, TenantOnGpu& tenant,
                           const HeldMemory& held) {
  const MemoryLevels levels = levels_of(held);
  if (levels_of(std::exchange(tenant.held, held)) == levels) return;
  const bool is_close = tenant.point && now - tenant.point_at < kPointsApart;
  if (MemoryPoint* point = is_close ? points_.find(*tenant.point) : nullptr) {
    point->levels = levels;
    return;
  }
  tenant.point = points_.add({key.first, key.second, now, levels});
  tenant.point_at = now;
}

void MemoryTrace::follow_move(Instant now, const Key& key, TenantOnGpu& tenant, MemoryMove::Way way,
                              std::uint64_t bytes) {
  const bool goes_on =
      tenant.move && tenant.move->way == way && now - tenant.move->end < kMovePause;
  if (!goes_on) {
    end_move(tenant);
    // It began after what was last heard, if that is not long ago.
    const Instant start = now - tenant.heard < kMovePause ? tenant.heard : now;
    tenant.move = MemoryMove{key.first, key.second, way, start, now, 0};
  }
  tenant.move->end = now;
  tenant.move->bytes += bytes;
}

void MemoryTrace::end_move(TenantOnGpu& tenant) {
  if (tenant.move) moves_.add(*tenant.move);
  tenant.move.reset();
}

MemoryExtract MemoryTrace::last(Instant now, Duration last, std::size_t max) const {
  const Instant since = now - last;
  MemoryExtract extract;
  for (std::size_t back = 1; back <= std::min(points_.size(), max); ++back) {
    const MemoryPoint& point = points_.from_end(back);
    if (point.at < since) break;
    extract.points.push_back(point);
  }
  std::reverse(extract.points.begin(), extract.points.end());
  for (const auto& [key, tenant] : tenants_) {
    if (tenant.point && tenant.point_at < since) {
      // Nothing has changed since then.
      extract.points.insert(extract.points.begin(),
                            {key.first, key.second, since, levels_of(tenant.held)});
    }
    if (tenant.move && tenant.move->end >= since) extract.moves.push_back(*tenant.move);
  }
  // In the order of ends, nearly: a move is added when the next one begins.
  for (std::size_t back = 1; back <= moves_.size() && extract.moves.size() < max; ++back) {
    const MemoryMove& move = moves_.from_end(back);
    if (move.end >= since) extract.moves.push_back(move);
  }
  std::sort(extract.moves.begin(), extract.moves.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  return extract;
}

}  // namespace nvs::daemon
