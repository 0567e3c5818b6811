// SPDX-License-Identifier: Apache-2.0
// What people see of the node: the core's picture with what the daemon knows beside it.
#include <utility>

#include <unistd.h>

#include "daemon/limits.h"
#include "daemon/metrics.h"
#include "daemon/node.h"

namespace nvs::daemon {
namespace {

LimitLabels label_of(const EffectiveLimit<MemoryAmount>& limit) {
  return {limit.value ? text_of(*limit.value) : "", std::string(source_word(limit.source))};
}
LimitLabels label_of(const EffectiveLimit<std::uint32_t>& limit) {
  return {limit.value ? std::to_string(*limit.value) : "", std::string(source_word(limit.source))};
}

}  // namespace

NodeLabels Node::labels(Instant now) const {
  NodeLabels labels;
  labels.version = NVS_VERSION;
  labels.folder = options_.folder;
  labels.pid = ::getpid();
  labels.uptime = now - start_;
  for (const GpuEntry& entry : gpus_.entries()) {
    const Capacity& capacity = memory_.capacity(static_cast<core::GpuId>(labels.gpus.size()));
    labels.gpus.push_back({entry.gpu.uuid, entry.gpu.name, entry.gpu.is_mig, entry.gpu.mps_active,
                           capacity.size(), capacity.visible(), capacity.other(),
                           entry.nvml_error});
  }
  for (const auto& [id, name] : clients_.departed()) labels.tenants[id].name = name;
  for (const auto& [id, tenant] : clients_.tenants()) {
    TenantLabels& named = labels.tenants[id];
    named.name = tenant.name;
    named.program = tenant.program;
    named.pod = tenant.pod;
    named.pod_namespace = tenant.pod_namespace;
    named.container = tenant.container;
    named.priority_asked = tenant.priority_asked;
    named.kubernetes = {tenant.standing, tenant.standing_reason, tenant.slot,
                        tenant.container_name};
  }
  if (pods_.is_asked()) {
    labels.kubernetes =
        WatchLabels{pods_health_, pods_.pod_count(), pods_.slot_count(), bad_annotations_};
  }
  return labels;
}

// Who does not say where its memory is has nowhere to move it to.
ClaimedMemory Node::claim_of(core::ClientId id, core::GpuId gpu) const {
  const Client& client = clients_.clients().at(id);
  ClaimedMemory claim{.pid = client.pid, .tenant = client.tenant};
  const auto told = client.memory_bytes.find(gpu);
  if (const auto held = memory_.held(id, gpu)) {
    claim.bytes =
        held->managed == 0 && held->early == 0 ? std::optional(held->on_gpu()) : std::nullopt;
  } else if (told != client.memory_bytes.end()) {
    claim.bytes = told->second;
  }
  return claim;
}

void Node::note_processes(core::GpuId gpu,
                          const std::optional<std::vector<ProcessMemory>>& processes) {
  std::vector<ClaimedMemory> claims;
  for (const core::ClientId client : memory_.clients_on(gpu))
    claims.push_back(claim_of(client, gpu));
  driver_memory_.poll(gpu, uses_of(claims, processes.value_or(std::vector<ProcessMemory>{})));
}

void Node::add_memory(NodeLabels& labels) const {
  for (const auto& [id, client] : clients_.clients()) {
    labels.clients[id] = client.pid;
    TenantLabels& tenant = labels.tenants[client.tenant];
    for (std::uint32_t index = 0; index < labels.gpus.size(); ++index) {
      const auto gpu = static_cast<core::GpuId>(index);
      const auto held = memory_.held(id, gpu);
      const auto told = client.memory_bytes.find(gpu);
      if (held) {
        tenant.memory[gpu].held += *held;
        tenant.memory[gpu].allocated_bytes += held->allocated();
      } else if (told != client.memory_bytes.end()) {
        tenant.memory[gpu].allocated_bytes += told->second;
      }
    }
  }
}

void Node::add_limits(NodeLabels& labels, Instant now, const core::NodeView& view) const {
  for (const core::TenantView& seen : view.tenants) {
    const auto found = clients_.tenants().find(seen.tenant);
    if (found == clients_.tenants().end()) continue;
    const Tenant& tenant = found->second;
    TenantLabels& named = labels.tenants[seen.tenant];
    named.memory_limit = label_of(tenant.limits.memory());
    named.core_limit = label_of(tenant.limits.cores());
    named.limit_errors = tenant.limit_errors;
    named.limit_errors.insert(named.limit_errors.end(), tenant.annotation_errors.begin(),
                              tenant.annotation_errors.end());
    for (const core::TenantOnGpu& use : seen.gpus) {
      const auto share = [&](Duration span) {
        return shares_.share(seen.tenant, use.gpu, now, use.had, span);
      };
      named.shares[use.gpu] = {share(kShareShort), share(kShareLong)};
      if (core::index_of(use.gpu) >= gpus_.entries().size()) continue;
      named.memory[use.gpu].limit_bytes = memory_limit(tenant, use.gpu);
      named.memory[use.gpu].account_bytes = accounts_.used(seen.tenant, use.gpu);
      named.memory[use.gpu].driver_bytes = driver_memory_.bytes(seen.tenant, use.gpu);
    }
  }
}

Node::Picture Node::picture(Instant now, HostView host) const {
  Picture picture{core_.view(now), labels(now)};
  auto& [view, named] = picture;
  add_memory(named);
  add_limits(named, now, view);
  for (core::TenantView& tenant : view.tenants) {
    const auto found = clients_.tenants().find(tenant.tenant);
    if (found == clients_.tenants().end()) continue;
    const auto& before = found->second.billed_before;
    for (core::TenantOnGpu& on_gpu : tenant.gpus) {
      const auto billed = before.find(on_gpu.gpu);
      if (billed != before.end()) on_gpu.used += billed->second;
    }
  }
  named.host = std::move(host);
  return picture;
}

std::string Node::status(Instant now, HostView host) const {
  const Picture shown = picture(now, std::move(host));
  return status_text(shown.view, shown.labels);
}

std::string Node::metrics(Instant now, HostView host) const {
  const Picture shown = picture(now, std::move(host));
  return metrics_text(shown.view, shown.labels);
}

std::string Node::trace(Instant now, Duration last) const {
  return trace_text(trace_.last(now, last, kTraceAnswerMax),
                    memory_trace_.last(now, last, kTraceAnswerMax), labels(now));
}

}  // namespace nvs::daemon
