// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/log.h"
#include "daemon/limits.h"
#include "daemon/saved_tenants.h"
#include "daemon/status_words.h"

namespace nvs::daemon {
namespace {

void log_mps(const std::string& uuid) {
  log(Level::warning,
      "MPS is active on this GPU: it merges the work of tenants, so there are no windows",
      {{"gpu", uuid}});
}

}  // namespace

Node::Node(const Options& options, SavedState saved, Instant start, const HostView& host,
           TenantIds ids)
    : options_(options),
      saved_(std::move(saved)),
      ids_(std::move(ids)),
      saved_most_(kSavedTenantsKept),
      start_(start),
      memory_(host.cap_bytes, host.segment_bytes) {}

void Node::step(Instant now, const core::Event& event, Effects& effects) {
  trace_.record(now, event);
  memory_trace_.record(now, event);
  const std::size_t before = effects.size();
  core_.step(now, event, effects);
  for (std::size_t i = before; i < effects.size(); ++i) trace_.record(now, effects[i]);
  // What goes wrong shows when a time is over or a drain is refused.
  const bool may_be_wrong = std::holds_alternative<core::Tick>(event) ||
                            std::holds_alternative<core::DrainRefused>(event);
  if (may_be_wrong && troubles_.may_look(now))
    troubles_.look(now, core_.view(now), clients_, gpus_);
}

void Node::sample(Instant now) {
  const core::NodeView view = core_.view(now);
  shares_.sample(now, view);
  troubles_.look(now, view, clients_, gpus_);
}

void Node::hold(Instant now, core::ClientId client, core::GpuId gpu, const HeldMemory& told) {
  memory_.hold(client, gpu, told);
  // As far as it is believed, so that the timeline shows what the status does.
  if (const auto held = memory_.held(client, gpu)) memory_trace_.hold(now, client, gpu, *held);
}

void Node::note_fault(core::ClientId id, core::GpuId gpu, std::uint64_t fixed_bytes) {
  Client& client = clients_.client(id);
  if (!client.faults.insert(gpu).second) return;
  log(Level::warning, "a process has lost its contexts: what it has on the GPU stays until it ends",
      fields_of(clients_.at(client.tenant), {{"client", static_cast<std::uint64_t>(id)},
                                             {"pid", client.pid},
                                             {"gpu", gpus_.at(gpu).gpu.uuid},
                                             {"fixed_mib", fixed_bytes >> 20U}}));
}

core::GpuPolicy Node::initial_policy(const Gpu& gpu) const {
  const auto set = saved_.gpus.find(gpu.uuid);
  core::GpuPolicy policy = set == saved_.gpus.end() ? options_.policy : set->second;
  policy.quota_period = options_.policy.quota_period;  // nobody sets it
  if (gpu.mps_active) policy.mode = core::Mode::concurrent;
  return policy;
}

// What it is treated as having; 0: not known.
std::uint64_t Node::size_of(const Gpu& gpu) const {
  const auto most = options_.gpu_memory.of(gpu.uuid_bytes);
  const bool is_less = most && (gpu.memory_bytes == 0 || *most < gpu.memory_bytes);
  return is_less ? *most : gpu.memory_bytes;
}

std::optional<core::GpuId> Node::add_gpu(Instant now, Gpu gpu, Origin origin, Effects& effects) {
  const core::GpuPolicy policy = initial_policy(gpu);
  const std::uint64_t physical = gpu.memory_bytes;
  gpu.memory_bytes = size_of(gpu);
  const std::string uuid = gpu.uuid;
  const std::string name = gpu.name;
  const std::uint64_t memory_bytes = gpu.memory_bytes;
  const bool mps_active = gpu.mps_active;
  const auto id = gpus_.add(std::move(gpu), policy);
  if (!id) {
    log(Level::warning, "a GPU is not managed: there are too many, or two with one UUID",
        {{"gpu", uuid}, {"max", kGpusMax}});
    return std::nullopt;
  }
  log(Level::info, origin == Origin::found ? "GPU found" : "GPU learnt from a client",
      {{"gpu", uuid},
       {"index", core::index_of(*id)},
       {"name", name},
       {"memory_mib", memory_bytes >> 20U},
       {"mode", mode_word(policy.mode)}});
  if (mps_active) log_mps(uuid);
  memory_.add_gpu(physical, memory_bytes);
  step(now, core::GpuAdded{*id, memory_bytes, policy}, effects);
  for (const auto& [tenant, described] : clients_.tenants()) write_limits(described);
  return id;
}

void Node::describe_gpu(Instant now, core::GpuId id, Gpu gpu, Effects& effects) {
  GpuEntry& entry = gpus_.at(id);
  const std::uint64_t physical = gpu.memory_bytes;
  gpu.memory_bytes = size_of(gpu);
  entry.gpu = std::move(gpu);
  log(Level::info, "NVML knows a GPU that was learnt from a client",
      {{"gpu", entry.gpu.uuid},
       {"index", core::index_of(id)},
       {"name", entry.gpu.name},
       {"memory_mib", entry.gpu.memory_bytes >> 20U}});
  if (entry.gpu.mps_active) {
    log_mps(entry.gpu.uuid);
    entry.policy.mode = core::Mode::concurrent;
    step(now, core::PolicySet{id, entry.policy}, effects);
  }
  memory_.set_size(id, physical, entry.gpu.memory_bytes);
  step(now, core::CapacitySet{id, memory_.capacity(id).bytes()}, effects);
  for (const auto& [tenant, described] : clients_.tenants()) write_limits(described);
}

core::Priority Node::initial_priority(const Tenant& tenant, const TenantSettings& settings) const {
  if (settings.priority) return *settings.priority;
  const core::Priority asked = tenant.priority_asked;
  if (tenant.pod_uid.empty() || asked <= options_.pod_priority) return asked;
  log(Level::warning, "a pod asks for a higher priority than pods may have (--pod-priority)",
      fields_of(tenant, {{"asked", priority_word(asked)},
                         {"priority", priority_word(options_.pod_priority)}}));
  return options_.pod_priority;
}

Tenant& Node::join(Instant now, core::ClientId client, pid_t pid, Tenant first,
                   const Wishes& wishes, Effects& effects) {
  Tenant* tenant = clients_.find(first.key);
  const bool is_first = tenant == nullptr;
  TenantSettings settings;
  std::optional<DepartedQuota::Kept> kept;
  if (is_first) {
    const auto saved = saved_.tenants.find(first.key);
    if (saved != saved_.tenants.end()) settings = saved->second;
    first.paused = first.paused || settings.paused;
    first.priority_asked = wishes.priority;
    first.limits = initial_limits(settings);
    kept = departed_.recall(now, first.key);
    if (kept) first.limits.bring(kept->limits);
    const core::TenantId id = ids_.take(first.key);
    tenant = &clients_.add_tenant(id, std::move(first));
    shares_.begin(now);
  }
  // Its first process may have lost the variable that says it.
  const bool has_slot = is_first || tenant->standing == Standing::verified;
  if (!has_slot && !first.slot.empty()) tenant->slot = first.slot;
  clients_.add_client(client, tenant->id, pid);
  pods_awaited_.erase(tenant->pod_uid);
  const core::Share cap_before = tenant->limits.cap();
  bring_limits(*tenant, wishes);
  if (!has_slot || is_first) identify(*tenant);
  const core::Share cap = tenant->limits.cap();
  // The core takes that of a tenant's first client, and passes over those of the others.
  const core::Priority priority =
      is_first ? initial_priority(*tenant, settings) : core::Priority::normal;
  step(now, core::ClientJoined{client, tenant->id, priority, settings.weight.value_or(100), cap},
       effects);
  if (!is_first && cap != cap_before) step(now, core::CapSet{tenant->id, cap, false}, effects);
  if (kept) return_credit(now, tenant->id, *kept, effects);
  if (is_first && tenant->paused) step(now, core::TenantPaused{tenant->id}, effects);
  return *tenant;
}

void Node::leave(Instant now, core::ClientId client, Effects& effects) {
  memory_.leave(client);
  accounts_.leave(client);
  const Tenant& tenant = clients_.at(clients_.client(client).tenant);
  const bool is_last = tenant.clients.size() == 1;
  if (is_last) {
    keep_quota(now, tenant);
    ids_.release(tenant.key);
  }
  const bool leaves_container = is_last && give_up_container(tenant);
  step(now, core::ClientLeft{client}, effects);
  clients_.remove_client(client);
  forget_pods(now);
  if (leaves_container) identify_all(now, effects);  // another one may say that it is it
}

void Node::set_policy(Instant now, core::GpuId gpu, core::GpuPolicy policy, Effects& effects) {
  GpuEntry& entry = gpus_.at(gpu);
  if (entry.gpu.mps_active && policy.mode != core::Mode::concurrent) {
    log(Level::warning, "MPS is active on this GPU: its mode stays concurrent",
        {{"gpu", entry.gpu.uuid}});
    policy.mode = core::Mode::concurrent;
  }
  entry.policy = policy;
  saved_.gpus[entry.gpu.uuid] = policy;
  log(Level::info, "policy set",
      {{"gpu", entry.gpu.uuid},
       {"mode", mode_word(policy.mode)},
       {"window_us", policy.window.ns() / 1000},
       {"turn_ms", policy.turn ? std::to_string(policy.turn->ns() / 1'000'000) : "auto"}});
  step(now, core::PolicySet{gpu, policy}, effects);
  save();
}

void Node::set_priority(Instant now, core::TenantId tenant, core::Priority priority,
                        Effects& effects) {
  const Tenant& named = clients_.at(tenant);
  saved_.tenants[named.key].priority = priority;
  log(Level::info, "priority set", fields_of(named, {{"priority", priority_word(priority)}}));
  step(now, core::PrioritySet{tenant, priority}, effects);
  save();
}

void Node::set_weight(Instant now, core::TenantId tenant, std::uint32_t weight, Effects& effects) {
  const Tenant& named = clients_.at(tenant);
  saved_.tenants[named.key].weight = weight;
  log(Level::info, "weight set", fields_of(named, {{"weight", weight}}));
  step(now, core::WeightSet{tenant, weight}, effects);
  save();
}

void Node::set_paused(Instant now, core::TenantId tenant, bool paused, Effects& effects) {
  Tenant& named = clients_.at(tenant);
  named.paused = paused;
  saved_.tenants[named.key].paused = paused;
  log(Level::info, paused ? "tenant paused" : "tenant resumed", fields_of(named));
  if (paused) {
    step(now, core::TenantPaused{tenant}, effects);
  } else {
    step(now, core::TenantResumed{tenant}, effects);
  }
  save();
}

void Node::note_answer(Instant now, core::GpuId gpu, const std::optional<std::string>& error) {
  GpuEntry& entry = gpus_.at(gpu);
  if (error == entry.nvml_error) return;
  if (!entry.nvml_error) entry.silent_since = now;
  entry.nvml_error = error;
  if (error) {
    log(Level::warning, "a GPU does not answer", {{"gpu", entry.gpu.uuid}, {"error", *error}});
  } else {
    log(Level::info, "a GPU answers again",
        {{"gpu", entry.gpu.uuid}, {"after_ms", (now - entry.silent_since).ns() / 1'000'000}});
  }
}

void Node::measure(Instant now, core::GpuId gpu, std::uint64_t free_bytes, Effects& effects) {
  const auto capacity = memory_.measure(gpu, free_bytes);
  if (!capacity) return;
  log(Level::debug, "another part of a GPU's memory is left to share",
      {{"gpu", gpus_.at(gpu).gpu.uuid},
       {"capacity_mib", *capacity >> 20U},
       {"other_mib", memory_.capacity(gpu).other() >> 20U}});
  step(now, core::CapacitySet{gpu, *capacity}, effects);
}

core::FoundOpen Node::found_open(Instant now, core::ClientId client, core::GpuId gpu) const {
  return {client, gpu, is_readopting(now)};
}

void Node::bill_earlier(Instant now, core::TenantId tenant, core::GpuId gpu,
                        std::uint64_t used_ns) {
  if (!is_readopting(now)) return;
  // Nobody can have used a GPU for longer than the machine runs.
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(now.ns(), 0));
  const auto used = Duration::from_ns(static_cast<std::int64_t>(std::min(used_ns, most)));
  // The clients of a tenant share its windows, and one may tell it twice: no sum, but the most.
  Duration& billed = clients_.at(tenant).billed_before[gpu];
  billed = std::max(billed, used);
}

void Node::forget_ended_tenants() {
  std::erase_if(saved_.tenants, [](const auto& entry) { return entry.second.is_default(); });
  const auto is_here = [this](const std::string& key) { return clients_.find(key) != nullptr; };
  forget_ended_processes(saved_.tenants, is_here);
  if (saved_.tenants.size() <= saved_most_) return;
  forget_ended_groups(saved_.tenants, is_here);
  // Where most of them live it is not looked at all processes again for each that is added.
  saved_most_ = std::clamp(2 * saved_.tenants.size(), kSavedTenantsKept, kSavedTenantsMax);
}

void Node::save() {
  forget_ended_tenants();
  const Result<void> saved = save_state(options_.folder, saved_);
  unsaved_.reset();
  if (saved) return;
  const Error& error = saved.error();
  unsaved_ =
      Unsaved{.file = state_path(options_.folder),
              .error = error.sys == 0 ? error.what : std::generic_category().message(error.sys)};
  log(Level::error, "settings are in force but could not be saved: a restart would lose them",
      {{"folder", options_.folder}, {"error", error.message()}});
}

}  // namespace nvs::daemon
