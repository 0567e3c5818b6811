// SPDX-License-Identifier: Apache-2.0
// The node as the daemon knows it: the core with its books of who is connected and which GPUs there
// are, the trace of what it decided, and what an administrator has set. It does no input or output
// but for the file of what must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/scheduler.h"
#include "daemon/client_table.h"
#include "daemon/departed_quota.h"
#include "daemon/driver_memory.h"
#include "daemon/gpu_table.h"
#include "daemon/host_view.h"
#include "daemon/limit_change.h"
#include "daemon/memory_books.h"
#include "daemon/memory_trace.h"
#include "daemon/options.h"
#include "daemon/pods.h"
#include "daemon/share_history.h"
#include "daemon/slot_change.h"
#include "daemon/state_file.h"
#include "daemon/status.h"
#include "daemon/tenant_account.h"
#include "daemon/tenant_ids.h"
#include "daemon/trace.h"
#include "daemon/troubles.h"
#include "daemon/unsaved.h"
#include "kube/update.h"

namespace nvs::daemon {

using Effects = std::vector<core::Effect>;

// What a client asks for itself and its tenant. Limits are texts of strangers.
struct Wishes {
  core::Priority priority = core::Priority::normal;
  std::string memory_limit = {};
  std::string core_limit = {};
  LimitSource memory_source = LimitSource::environment;
  LimitSource core_source = LimitSource::environment;
};

class Node {
 public:
  // `host`: the memory that there is for what is moved out of GPUs. `ids`: who has which number.
  Node(const Options& options, SavedState saved, Instant start, const HostView& host = {},
       TenantIds ids = {});

  // Effects are appended.
  void step(Instant now, const core::Event& event, Effects& effects);
  std::optional<Instant> next_deadline() const { return core_.next_deadline(); }
  std::uint32_t tenants_on(core::GpuId gpu) const { return core_.tenants_on(gpu); }

  enum class Origin : std::uint8_t { found, learnt };
  // Nothing if there is no room for it or it is there already; said in the log.
  std::optional<core::GpuId> add_gpu(Instant now, Gpu gpu, Origin origin, Effects& effects);

  // Of one that was learnt: what NVML says of it, now that it does.
  void describe_gpu(Instant now, core::GpuId id, Gpu gpu, Effects& effects);

  // The tenant of a new client, who is its first one if it has no others. `first` describes it,
  // `wishes` is what it asks for: an administrator's word counts more.
  Tenant& join(Instant now, core::ClientId client, pid_t pid, Tenant first, const Wishes& wishes,
               Effects& effects);
  // For a client that has joined: its place in the account of its tenant's memory. Nothing if there
  // is no memory for that; it goes on without, and the log says so.
  std::optional<TenantAccounts::Place> open_account(core::ClientId client);
  const TenantAccounts& accounts() const { return accounts_; }
  void leave(Instant now, core::ClientId client, Effects& effects);

  void set_policy(Instant now, core::GpuId gpu, core::GpuPolicy policy, Effects& effects);
  void set_priority(Instant now, core::TenantId tenant, core::Priority priority, Effects& effects);
  void set_weight(Instant now, core::TenantId tenant, std::uint32_t weight, Effects& effects);
  void set_limits(Instant now, core::TenantId tenant, const LimitChange& change, Effects& effects);
  void set_paused(Instant now, core::TenantId tenant, bool paused, Effects& effects);

  // Whether what was set is in the file, since it was last written.
  const std::optional<Unsaved>& unsaved() const { return unsaved_; }

  // From now on the API server is asked who is in which pod.
  void watch_pods();
  void update_pods(Instant now, const kube::Update& update, Effects& effects);
  void update_slots(Instant now, const SlotChange& change, Effects& effects);

  // What a client says that it has of a GPU's memory.
  void hold(Instant now, core::ClientId client, core::GpuId gpu, const HeldMemory& told);
  // It has lost its contexts there, and so much stays until it ends: said in the log, once.
  void note_fault(core::ClientId client, core::GpuId gpu, std::uint64_t fixed_bytes);
  // What NVML says in place of an answer about it; nothing: it answers. A change is logged.
  void note_answer(Instant now, core::GpuId gpu, const std::optional<std::string>& error);
  // How busy the GPU itself says that it was lately, if it does.
  void note_busy(core::GpuId gpu, std::optional<double> part) { shares_.note_busy(gpu, part); }
  // Who has its memory, by NVML, if that tells.
  void note_processes(core::GpuId gpu, const std::optional<std::vector<ProcessMemory>>& processes);
  // How much of the GPU's memory is free, by NVML.
  void measure(Instant now, core::GpuId gpu, std::uint64_t free_bytes, Effects& effects);

  // A client says that its gate is open. Soon after the daemon's start all may who ran without one.
  // Later it may be one that was slow, or whose connection broke alone; but anybody can connect
  // again and again and say so, and others must not have to wait for each.
  core::FoundOpen found_open(Instant now, core::ClientId client, core::GpuId gpu) const;
  // Told by a client that an earlier daemon has served.
  void bill_earlier(Instant now, core::TenantId tenant, core::GpuId gpu, std::uint64_t used_ns);

  // What the tenants have had is to be written down, and what is wrong with them said in the log;
  // when that is to be done next.
  std::optional<Instant> sample_deadline() const { return shares_.next_deadline(); }
  void sample(Instant now);

  std::string status(Instant now, HostView host) const;
  std::string metrics(Instant now, HostView host) const;
  std::string trace(Instant now, Duration last) const;

  GpuTable& gpus() { return gpus_; }
  ClientTable& clients() { return clients_; }
  MemoryBooks& memory() { return memory_; }

 private:
  bool is_readopting(Instant now) const { return now - start_ <= kReadoption; }
  std::uint64_t size_of(const Gpu& gpu) const;
  core::GpuPolicy initial_policy(const Gpu& gpu) const;
  core::Priority initial_priority(const Tenant& tenant, const TenantSettings& settings) const;
  NodeLabels labels(Instant now) const;
  void save();
  void forget_ended_tenants();

  // See node_limits.cpp.
  TenantLimits initial_limits(const TenantSettings& settings) const;
  void bring_limits(Tenant& tenant, const Wishes& wishes);
  void return_credit(Instant now, core::TenantId tenant, const DepartedQuota::Kept& kept,
                     Effects& effects);
  void keep_quota(Instant now, const Tenant& tenant);
  void write_limits(const Tenant& tenant);
  std::optional<std::uint64_t> memory_limit(const Tenant& tenant, core::GpuId gpu) const;

  static void log_limits(const char* message, const Tenant& tenant);

  // See node_pods.cpp.
  void identify(Tenant& tenant);
  bool give_up_container(const Tenant& tenant);
  void identify_all(Instant now, Effects& effects);
  bool is_in_use(Instant now, const std::string& uid) const;
  void lose_pod(Instant now, const std::string& uid);
  void lose_unlisted(Instant now, const std::vector<kube::PodChange>& listed);
  void keep_pods();
  void replace_picture(const kube::Pod& pod);
  void forget_pods(Instant now);

  // See node_status.cpp.
  struct Picture {
    core::NodeView view;
    NodeLabels labels;
  };
  Picture picture(Instant now, HostView host) const;
  ClaimedMemory claim_of(core::ClientId client, core::GpuId gpu) const;
  void add_memory(NodeLabels& labels) const;
  void add_limits(NodeLabels& labels, Instant now, const core::NodeView& view) const;

  Options options_;
  SavedState saved_;
  std::optional<Unsaved> unsaved_;  // nothing: all of that is in the file
  TenantIds ids_;
  std::size_t saved_most_;  // above so many tenants in it, those that are gone are looked for
  Instant start_;
  core::Scheduler core_;
  Trace trace_;
  MemoryTrace memory_trace_;
  GpuTable gpus_;
  ClientTable clients_;
  MemoryBooks memory_;
  DriverMemory driver_memory_;
  TenantAccounts accounts_;
  bool has_account_failed_ = false;  // the last one could not be made, and the log says so
  DepartedQuota departed_;
  Pods pods_;
  std::set<std::string> pods_gone_;     // by uid: deleted, and in use
  std::set<std::string> pods_awaited_;  // an earlier daemon's, and none of their tenants is back
  // Who is taken for which container, by its pod's uid and its name: never two at once.
  std::map<std::pair<std::string, std::string>, core::TenantId> containers_;
  kube::Health pods_health_;
  std::uint64_t bad_annotations_ = 0;  // seen in all
  ShareHistory shares_;
  Troubles troubles_;
};

}  // namespace nvs::daemon
