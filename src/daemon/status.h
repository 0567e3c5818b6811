// SPDX-License-Identifier: Apache-2.0
// What people see of the node: the core's picture with the names that the daemon knows, as JSON
// text. Names come from clients; whatever bytes they hold, the text is valid JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/instant.h"
#include "core/view.h"
#include "daemon/held_memory.h"
#include "daemon/host_view.h"
#include "daemon/memory_trace.h"
#include "daemon/pods.h"
#include "daemon/trace.h"
#include "kube/update.h"

namespace nvs::daemon {

struct GpuLabels {
  std::string uuid;
  std::string name;
  bool is_mig = false;
  bool mps_active = false;
  std::uint64_t memory_bytes = 0;   // what it has, or is treated as having; 0: not known
  std::uint64_t visible_bytes = 0;  // of that, what programs that come now see
  std::uint64_t other_bytes = 0;    // used by nobody's allocations: contexts, foreign programs
  std::optional<std::string> nvml_error = {};  // why NVML says nothing about it any more
};

struct MemoryLabels {
  std::uint64_t allocated_bytes = 0;
  HeldMemory held = {};  // of clients that tell
  // What the driver has for them beside all that; nothing: not known.
  std::optional<std::uint64_t> driver_bytes = {};
  std::optional<std::uint64_t> limit_bytes = {};  // nothing: none
  std::uint64_t account_bytes = 0;                // what counts towards it
};

// What a tenant had of a GPU's time lately, if that is known.
struct ShareLabels {
  std::optional<double> ten_seconds;
  std::optional<double> minute;
};

struct LimitLabels {
  std::string value = {};       // empty: no limit
  std::string source = "none";  // who says so
};

// A tenant in Kubernetes (ADR-0025).
struct PodLabels {
  Standing standing = Standing::outside;
  std::string reason = {};  // why it is not verified
  std::string slot = {};    // as it says
  std::string container = {};
};

// The watch of pods.
struct WatchLabels {
  kube::Health health;
  std::size_t pods = 0;
  std::size_t slots = 0;
  std::uint64_t bad_annotations = 0;
};

struct TenantLabels {
  std::string name;  // see tenant_name
  std::string program;
  std::string pod;
  std::string pod_namespace;
  std::string container;
  std::map<core::GpuId, MemoryLabels> memory = {};  // of all its clients
  std::map<core::GpuId, ShareLabels> shares = {};
  core::Priority priority_asked = core::Priority::normal;
  LimitLabels memory_limit = {};
  LimitLabels core_limit = {};
  std::vector<std::string> limit_errors = {};
  PodLabels kubernetes = {};
};

struct NodeLabels {
  std::string version;
  std::string folder;
  pid_t pid = 0;
  Duration uptime;
  std::vector<GpuLabels> gpus;                               // by GpuId
  std::unordered_map<core::TenantId, TenantLabels> tenants;  // for a trace: also who has left
  std::unordered_map<core::ClientId, pid_t> clients;
  HostView host;
  std::optional<WatchLabels> kubernetes = {};  // nothing: nobody watches
};

// Clients may name GPUs before the labels do: what is not known has empty ones.
const GpuLabels& labels_of(const NodeLabels& labels, core::GpuId gpu);
const TenantLabels& labels_of(const NodeLabels& labels, core::TenantId tenant);

// "namespace/pod" if it has a pod, else its program, else "pid 123".
std::string tenant_name(const std::string& pod_namespace, const std::string& pod,
                        const std::string& program, pid_t pid);

// The result of the admin command `status`.
std::string status_text(const core::NodeView& view, const NodeLabels& labels);

// The result of the admin command `trace`: times are microseconds of the daemon's clock.
std::string trace_text(const TraceExtract& extract, const MemoryExtract& memory,
                       const NodeLabels& labels);

}  // namespace nvs::daemon
