// SPDX-License-Identifier: Apache-2.0
#include "daemon/status.h"

#include <array>
#include <set>
#include <string_view>

#include "daemon/status_words.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kKinds = {"open", "drain", "wait"};

std::uint64_t number_of(core::TenantId tenant) { return static_cast<std::uint64_t>(tenant); }

double percent_of(core::Share share) {
  constexpr core::Share kShareOfPercent = core::kWholeGpu / 100;
  return static_cast<double>(share) / kShareOfPercent;
}

template <class Number>
void write_or_null(JsonWriter& json, const std::optional<Number>& number) {
  if (number)
    json.number(*number);
  else
    json.null();
}

void write_or_null(JsonWriter& json, const std::optional<std::string>& text) {
  if (text)
    json.text(*text);
  else
    json.null();
}

std::optional<double> cap_or_none(core::Share cap) {
  return cap == core::kNoCap ? std::nullopt : std::optional(percent_of(cap));
}

void write_gpu(JsonWriter& json, const core::GpuView& gpu, const GpuLabels& labels) {
  json.begin_object();
  json.key("index").number(index_of(gpu.gpu));
  json.key("uuid").text(labels.uuid);
  json.key("name").text(labels.name);
  json.key("memory_bytes").number(labels.memory_bytes);
  json.key("capacity_bytes").number(gpu.capacity_bytes);
  json.key("visible_bytes").number(labels.visible_bytes);
  json.key("other_bytes").number(labels.other_bytes);
  json.key("mig").boolean(labels.is_mig);
  json.key("mps").boolean(labels.mps_active);
  write_or_null(json.key("nvml_error"), labels.nvml_error);
  json.key("mode").text(mode_word(gpu.policy.mode));
  json.key("window_ms").number(static_cast<double>(gpu.policy.window.ns()) / 1e6);
  json.key("turn_s");
  if (gpu.policy.turn)
    json.seconds(*gpu.policy.turn);
  else
    json.null();
  json.key("holder");
  if (gpu.holder)
    json.number(number_of(*gpu.holder));
  else
    json.null();
  json.key("waiting").number(gpu.waiting);
  json.key("switches").number(gpu.switches);
  json.key("held_s").seconds(gpu.held);
  json.key("handover_s").seconds(gpu.handover);
  json.key("caps_percent").number(percent_of(gpu.caps));
  json.key("swap_idle_s").seconds(gpu.swap_idle);
  json.key("loose").begin_array();
  for (const core::TenantId tenant : gpu.loose) json.number(number_of(tenant));
  json.end_array().end_object();
}

template <class Labels>
Labels labels_on(const std::map<core::GpuId, Labels>& labels, core::GpuId gpu) {
  const auto found = labels.find(gpu);
  return found != labels.end() ? found->second : Labels{};
}

void write_limits(JsonWriter& json, const core::TenantOnGpu& use, const TenantLabels& labels) {
  const MemoryLabels memory = labels_on(labels.memory, use.gpu);
  const ShareLabels shares = labels_on(labels.shares, use.gpu);
  write_or_null(json.key("memory_limit_bytes"), memory.limit_bytes);
  json.key("memory_used_bytes").number(memory.account_bytes);
  write_or_null(json.key("cap_percent"), cap_or_none(use.cap));
  write_or_null(json.key("cap_in_force_percent"), cap_or_none(use.cap_in_force));
  write_or_null(json.key("share_10s"), shares.ten_seconds);
  write_or_null(json.key("share_60s"), shares.minute);
  json.key("throttled_s").seconds(use.throttled);
  json.key("throttled_now").boolean(use.state == core::TenantState::throttled);
  json.key("memory_wait_s").seconds(use.memory_wait);
}

void write_use(JsonWriter& json, const core::TenantOnGpu& use, const TenantLabels& labels) {
  const MemoryLabels memory = labels_on(labels.memory, use.gpu);
  json.begin_object();
  json.key("gpu").number(index_of(use.gpu));
  json.key("state").text(state_word(use.state));
  json.key("used_s").seconds(use.used);
  json.key("waited_s").seconds(use.waited);
  json.key("waiting_now_s").seconds(use.waiting_now);
  json.key("longest_wait_s").seconds(use.longest_wait);
  json.key("windows").number(use.windows);
  json.key("memory_bytes").number(memory.allocated_bytes);
  json.key("resident_bytes").number(memory.held.resident);
  json.key("swapped_bytes").number(memory.held.away);
  json.key("clean_bytes").number(memory.held.clean);
  json.key("fixed_bytes").number(memory.held.fixed);
  json.key("host_bytes").number(memory.held.host);
  json.key("copied_out_bytes").number(memory.held.copied_out);
  json.key("copied_in_bytes").number(memory.held.copied_in);
  json.key("managed_bytes").number(memory.held.managed);
  write_or_null(json.key("driver_bytes"), memory.driver_bytes);
  write_limits(json, use, labels);
  json.end_object();
}

void write_limit(JsonWriter& json, const LimitLabels& limit) {
  json.begin_object().key("value");
  if (limit.value.empty())
    json.null();
  else
    json.text(limit.value);
  json.key("source").text(limit.source).end_object();
}

void write_pod(JsonWriter& json, const PodLabels& labels) {
  json.begin_object().key("standing").text(standing_word(labels.standing));
  json.key("reason").text(labels.reason).key("slot").text(labels.slot);
  json.key("container").text(labels.container).end_object();
}

void write_watch(JsonWriter& json, const std::optional<WatchLabels>& watch) {
  if (!watch) {
    json.null();
    return;
  }
  json.begin_object().key("reachable").boolean(watch->health.is_reachable);
  json.key("listed").boolean(watch->health.has_listed);
  json.key("last_error").text(watch->health.last_error);
  json.key("pods").number(watch->pods).key("slots").number(watch->slots);
  json.key("bad_annotations").number(watch->bad_annotations);
  json.key("reconnects").begin_object();
  for (std::size_t i = 0; i < kube::kReasons; ++i) {
    const auto reason = static_cast<kube::Reason>(i);
    json.key(kube::reason_word(reason)).number(watch->health.count(reason));
  }
  json.end_object().end_object();
}

void write_tenant(JsonWriter& json, const core::TenantView& tenant, const NodeLabels& node) {
  const TenantLabels& labels = labels_of(node, tenant.tenant);
  json.begin_object();
  json.key("id").number(number_of(tenant.tenant));
  json.key("name").text(labels.name);
  json.key("program").text(labels.program);
  json.key("pod").text(labels.pod);
  json.key("namespace").text(labels.pod_namespace);
  json.key("container").text(labels.container);
  json.key("priority").text(priority_word(tenant.priority));
  json.key("priority_asked").text(priority_word(labels.priority_asked));
  json.key("weight").number(tenant.weight);
  json.key("paused").boolean(tenant.paused);
  json.key("limits").begin_object();
  write_limit(json.key("memory"), labels.memory_limit);
  write_limit(json.key("cores"), labels.core_limit);
  json.end_object().key("limit_errors").begin_array();
  for (const std::string& error : labels.limit_errors) json.text(error);
  json.end_array();
  write_pod(json.key("kubernetes"), labels.kubernetes);
  json.key("clients").begin_array();
  for (const core::ClientId client : tenant.clients) {
    const auto pid = node.clients.find(client);
    json.begin_object().key("id").number(static_cast<std::uint64_t>(client));
    json.key("pid").number(pid != node.clients.end() ? pid->second : 0).end_object();
  }
  json.end_array().key("gpus").begin_array();
  for (const core::TenantOnGpu& use : tenant.gpus) write_use(json, use, labels);
  json.end_array().end_object();
}

void write_host(JsonWriter& json, const HostView& host) {
  json.begin_object();
  json.key("cap_bytes").number(host.cap_bytes);
  json.key("segment_bytes").number(host.segment_bytes);
  json.key("held_bytes").number(host.held_bytes);
  json.key("kept_bytes").number(host.kept_bytes);
  json.key("promised_bytes").number(host.promised_bytes);
  json.key("ready_bytes").number(host.ready_bytes);
  json.key("touching_bytes").number(host.touching_bytes);
  json.key("freeing_bytes").number(host.freeing_bytes);
  json.key("refused").number(host.refused);
  json.key("huge_pages").boolean(host.huge_pages);
  json.key("tenants").begin_array();
  for (const auto& [tenant, bytes] : host.tenants) {
    json.begin_object().key("id").number(number_of(tenant));
    json.key("held_bytes").number(bytes).end_object();
  }
  json.end_array().end_object();
}

void write_memory(JsonWriter& json, const MemoryExtract& memory) {
  json.key("memory").begin_array();
  for (const MemoryPoint& point : memory.points) {
    json.begin_object().key("gpu").number(index_of(point.gpu));
    json.key("tenant").number(number_of(point.tenant));
    json.key("at_us").number(point.at.ns() / 1000);
    json.key("resident_bytes").number(point.levels.resident);
    json.key("swapped_bytes").number(point.levels.away);
    json.key("clean_bytes").number(point.levels.clean);
    json.key("fixed_bytes").number(point.levels.fixed).end_object();
  }
  json.end_array().key("moves").begin_array();
  for (const MemoryMove& move : memory.moves) {
    json.begin_object().key("gpu").number(index_of(move.gpu));
    json.key("tenant").number(number_of(move.tenant));
    json.key("way").text(move.way == MemoryMove::Way::out ? "out" : "in");
    json.key("start_us").number(move.start.ns() / 1000);
    json.key("end_us").number(move.end.ns() / 1000);
    json.key("bytes").number(move.bytes).end_object();
  }
  json.end_array();
}

}  // namespace

const GpuLabels& labels_of(const NodeLabels& labels, core::GpuId gpu) {
  static const GpuLabels kNone{.uuid = "", .name = "unknown"};
  return index_of(gpu) < labels.gpus.size() ? labels.gpus[index_of(gpu)] : kNone;
}

const TenantLabels& labels_of(const NodeLabels& labels, core::TenantId tenant) {
  static const TenantLabels kNone;
  const auto found = labels.tenants.find(tenant);
  return found != labels.tenants.end() ? found->second : kNone;
}

std::string tenant_name(const std::string& pod_namespace, const std::string& pod,
                        const std::string& program, pid_t pid) {
  if (!pod.empty()) return pod_namespace.empty() ? pod : pod_namespace + "/" + pod;
  return program.empty() ? "pid " + std::to_string(pid) : program;
}

std::string status_text(const core::NodeView& view, const NodeLabels& labels) {
  JsonWriter json;
  json.begin_object();
  json.key("version").text(labels.version);
  json.key("folder").text(labels.folder);
  json.key("pid").number(labels.pid);
  json.key("uptime_s").seconds(labels.uptime);
  write_host(json.key("host_memory"), labels.host);
  write_watch(json.key("kubernetes"), labels.kubernetes);
  json.key("gpus").begin_array();
  for (const core::GpuView& gpu : view.gpus) write_gpu(json, gpu, labels_of(labels, gpu.gpu));
  json.end_array().key("tenants").begin_array();
  for (const core::TenantView& tenant : view.tenants) write_tenant(json, tenant, labels);
  json.end_array().end_object();
  return json.take();
}

std::string trace_text(const TraceExtract& extract, const MemoryExtract& memory,
                       const NodeLabels& labels) {
  // Tenants that have left are listed too: the timeline still shows them.
  std::set<core::TenantId> tenants;
  for (const TraceInterval& interval : extract.intervals) tenants.insert(interval.tenant);
  for (const MemoryPoint& point : memory.points) tenants.insert(point.tenant);
  for (const MemoryMove& move : memory.moves) tenants.insert(move.tenant);

  JsonWriter json;
  json.begin_object().key("gpus").begin_array();
  for (std::size_t index = 0; index < labels.gpus.size(); ++index) {
    json.begin_object().key("index").number(index);
    json.key("uuid").text(labels.gpus[index].uuid);
    json.key("name").text(labels.gpus[index].name).end_object();
  }
  json.end_array().key("tenants").begin_array();
  for (const core::TenantId tenant : tenants) {
    json.begin_object().key("id").number(number_of(tenant));
    json.key("name").text(labels_of(labels, tenant).name).end_object();
  }
  json.end_array().key("cut").boolean(extract.is_cut).key("intervals").begin_array();
  for (const TraceInterval& interval : extract.intervals) {
    json.begin_object().key("gpu").number(index_of(interval.gpu));
    json.key("tenant").number(number_of(interval.tenant));
    json.key("kind").text(kKinds.at(static_cast<std::size_t>(interval.kind)));
    json.key("clients").number(interval.clients);
    json.key("start_us").number(interval.start.ns() / 1000);
    json.key("end_us").number(interval.end.ns() / 1000).end_object();
  }
  json.end_array();
  write_memory(json, memory);
  json.end_object();
  return json.take();
}

}  // namespace nvs::daemon
