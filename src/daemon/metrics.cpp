// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics.h"

#include <string_view>

#include "daemon/metrics_writer.h"

namespace nvs::daemon {
namespace {

double ratio_of(core::Share share) { return static_cast<double>(share) / core::kWholeGpu; }

void add_node(MetricsWriter& out, const core::NodeView& view, const NodeLabels& labels) {
  const LabelText node(MetricLabels::node, {});
  std::size_t clients = 0;
  for (const core::TenantView& tenant : view.tenants) clients += tenant.clients.size();
  out.add(Metric::nvshare_build_info, LabelText(MetricLabels::build, {labels.version}), 1);
  out.add(Metric::nvshare_tenants, node, view.tenants.size());
  out.add(Metric::nvshare_clients, node, clients);
  out.add(Metric::nvshare_host_memory_capacity_bytes, node, labels.host.cap_bytes);
  out.add(Metric::nvshare_host_memory_lent_bytes, node, labels.host.held_bytes);
  if (!labels.kubernetes) return;
  const WatchLabels& watch = *labels.kubernetes;
  out.add(Metric::nvshare_pod_watch_connected, node, watch.health.is_reachable ? 1 : 0);
  for (std::size_t i = 0; i < kube::kReasons; ++i) {
    const auto reason = static_cast<kube::Reason>(i);
    out.add(Metric::nvshare_pod_watch_reconnects_total,
            LabelText(MetricLabels::reconnect, {kube::reason_word(reason)}),
            watch.health.count(reason));
  }
  out.add(Metric::nvshare_bad_annotations_total, node, watch.bad_annotations);
}

void add_gpu(MetricsWriter& out, const core::GpuView& gpu, const GpuLabels& about) {
  const std::string index = std::to_string(core::index_of(gpu.gpu));
  const LabelText labels(MetricLabels::gpu, {about.uuid, index});
  const auto direction = [&](std::string_view word) {
    return LabelText(MetricLabels::gpu_direction, {about.uuid, index, word});
  };
  out.add(Metric::nvshare_gpu_info,
          LabelText(MetricLabels::gpu_about, {about.uuid, index, about.name}), 1);
  if (about.memory_bytes > 0) {  // else it is not known
    out.add(Metric::nvshare_gpu_memory_size_bytes, labels, about.memory_bytes);
    out.add(Metric::nvshare_gpu_memory_capacity_bytes, labels, gpu.capacity_bytes);
    out.add(Metric::nvshare_gpu_memory_other_bytes, labels, about.other_bytes);
  }
  out.add(Metric::nvshare_gpu_waiting_tenants, labels, gpu.waiting);
  out.add(Metric::nvshare_gpu_switches_total, labels, gpu.switches);
  out.add(Metric::nvshare_gpu_held_seconds_total, labels, gpu.held);
  out.add(Metric::nvshare_gpu_handover_seconds_total, labels, gpu.handover);
  out.add(Metric::nvshare_gpu_swap_idle_seconds_total, labels, gpu.swap_idle);
  out.add(Metric::nvshare_gpu_swap_bytes_total, direction("out"), gpu.moved_out_bytes);
  out.add(Metric::nvshare_gpu_swap_bytes_total, direction("in"), gpu.moved_in_bytes);
}

void add_memory(MetricsWriter& out, const LabelText& labels, const MemoryLabels& memory) {
  out.add(Metric::nvshare_tenant_memory_bytes, labels, memory.allocated_bytes);
  out.add(Metric::nvshare_tenant_memory_resident_bytes, labels, memory.held.resident);
  out.add(Metric::nvshare_tenant_memory_swapped_bytes, labels, memory.held.away);
  out.add(Metric::nvshare_tenant_memory_fixed_bytes, labels, memory.held.fixed);
  if (memory.driver_bytes) {
    out.add(Metric::nvshare_tenant_memory_driver_bytes, labels, *memory.driver_bytes);
  }
  out.add(Metric::nvshare_tenant_memory_counted_bytes, labels, memory.account_bytes);
  if (memory.limit_bytes) {
    out.add(Metric::nvshare_tenant_memory_limit_bytes, labels, *memory.limit_bytes);
  }
}

void add_use(MetricsWriter& out, const LabelText& labels, const core::TenantOnGpu& use) {
  out.add(Metric::nvshare_tenant_used_seconds_total, labels, use.used);
  out.add(Metric::nvshare_tenant_waited_seconds_total, labels, use.waited);
  out.add(Metric::nvshare_tenant_throttled_seconds_total, labels, use.throttled);
  out.add(Metric::nvshare_tenant_memory_wait_seconds_total, labels, use.memory_wait);
  out.add(Metric::nvshare_tenant_windows_total, labels, use.windows);
  if (use.cap != core::kNoCap) {
    out.add(Metric::nvshare_tenant_cap_ratio, labels, ratio_of(use.cap));
  }
  if (use.cap_in_force != core::kNoCap) {
    out.add(Metric::nvshare_tenant_cap_in_force_ratio, labels, ratio_of(use.cap_in_force));
  }
}

void add_tenant(MetricsWriter& out, const core::TenantView& tenant, const NodeLabels& node) {
  const TenantLabels& about = labels_of(node, tenant.tenant);
  const std::string id = std::to_string(static_cast<std::uint64_t>(tenant.tenant));
  const bool is_in_pod = about.kubernetes.standing != Standing::outside;
  const std::string& container = is_in_pod ? about.kubernetes.container : about.container;
  // Those that are empty are there too: else Prometheus puts the names of our own pod in
  // (honorLabels).
  const LabelText labels(MetricLabels::tenant,
                         {id, about.program, about.pod_namespace, about.pod, container});
  out.add(
      Metric::nvshare_tenant_info,
      LabelText(MetricLabels::tenant_about, {id, about.program, about.pod_namespace, about.pod,
                                             container, standing_word(about.kubernetes.standing)}),
      1);
  out.add(Metric::nvshare_tenant_limit_errors, labels, about.limit_errors.size());
  for (const core::TenantOnGpu& use : tenant.gpus) {
    const LabelText on_gpu(MetricLabels::tenant_on_gpu,
                           {id, about.program, about.pod_namespace, about.pod, container,
                            labels_of(node, use.gpu).uuid});
    add_use(out, on_gpu, use);
    const auto memory = about.memory.find(use.gpu);
    add_memory(out, on_gpu, memory != about.memory.end() ? memory->second : MemoryLabels{});
  }
}

}  // namespace

std::string metrics_text(const core::NodeView& view, const NodeLabels& labels) {
  MetricsWriter out;
  add_node(out, view, labels);
  for (const core::GpuView& gpu : view.gpus) add_gpu(out, gpu, labels_of(labels, gpu.gpu));
  for (const core::TenantView& tenant : view.tenants) add_tenant(out, tenant, labels);
  return out.take();
}

}  // namespace nvs::daemon
