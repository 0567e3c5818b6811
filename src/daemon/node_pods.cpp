// SPDX-License-Identifier: Apache-2.0
// The node's part in Kubernetes: what the API server and the kubelet say of pods reaches the
// tenants that are in them.
#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "daemon/limits.h"
#include "daemon/node.h"

namespace nvs::daemon {

void Node::watch_pods() {
  pods_.begin();
  pods_.restore(saved_.pods, saved_.slots);
  for (const auto& [uid, pod] : saved_.pods) pods_awaited_.insert(uid);
  if (saved_.pods.empty() && saved_.slots.empty()) return;
  log(Level::info, "pods and slots are as an earlier daemon knew them until they are told anew",
      {{"pods", saved_.pods.size()}, {"slots", saved_.slots.size()}});
}

void Node::update_pods(Instant now, const kube::Update& update, Effects& effects) {
  const bool had_listed = pods_health_.has_listed;
  if (update.health) pods_health_ = *update.health;
  const bool is_first_list = pods_health_.has_listed && !had_listed;
  if (is_first_list) lose_unlisted(now, update.changes);
  for (const kube::PodChange& change : update.changes) {
    const std::string& uid = change.pod.uid;
    if (change.kind == kube::PodChange::Kind::removed) {
      lose_pod(now, uid);
      continue;
    }
    pods_gone_.erase(uid);
    replace_picture(change.pod);
    for (const std::string& error : pods_.set_pod(change.pod).errors) {
      ++bad_annotations_;
      log(Level::warning, "annotation not understood: the limit stays as it was",
          {{"namespace", change.pod.space}, {"pod", change.pod.name}, {"error", error}});
    }
  }
  if (is_first_list || !update.changes.empty()) identify_all(now, effects);
  forget_pods(now);
  keep_pods();
}

// The first list has all pods that there are; the watch does not know what an earlier daemon knew.
void Node::lose_unlisted(Instant now, const std::vector<kube::PodChange>& listed) {
  std::set<std::string> present;
  for (const kube::PodChange& change : listed) present.insert(change.pod.uid);
  for (const std::string& uid : pods_.uids()) {
    if (!present.contains(uid)) lose_pod(now, uid);
  }
}

// One that was deleted by force may still run, and its limits hold for as long.
void Node::lose_pod(Instant now, const std::string& uid) {
  if (is_in_use(now, uid)) {
    pods_gone_.insert(uid);
  } else {
    pods_.remove_pod(uid);
  }
}

// The kubelet makes its picture of a pod from a file anew when somebody has deleted it: the new one
// counts. No two pods have the same name at once, so the other one of that name is gone.
void Node::replace_picture(const kube::Pod& pod) {
  if (pod.static_uid.empty()) return;
  std::erase_if(pods_gone_, [&](const std::string& uid) {
    const KnownPod* gone = pods_.find(uid);
    const bool is_it = gone != nullptr && gone->static_uid == pod.static_uid &&
                       gone->name == PodName{pod.space, pod.name};
    if (is_it) pods_.remove_pod(uid);
    return is_it;
  });
}

// The API server and the plugin may be away when the next daemon starts. Until the server has told
// us anything, nobody knows more of pods than the earlier daemon did.
void Node::keep_pods() {
  SavedPods pods = pods_health_.has_listed ? pods_.saved() : saved_.pods;
  SavedSlots slots = pods_.saved_slots();
  if (pods == saved_.pods && slots == saved_.slots) return;
  saved_.pods = std::move(pods);
  saved_.slots = std::move(slots);
  save();
}

void Node::update_slots(Instant now, const SlotChange& change, Effects& effects) {
  if (change.begins) pods_.begin_slots();
  for (const SlotUse& use : change.used) pods_.use_slot(use);
  for (const std::string& slot : change.freed) pods_.free_slot(slot);
  if (change.ends) pods_.end_slots();
  identify_all(now, effects);
  keep_pods();
}

// A picture is in use by tenants that were verified by it, or say so: by its name. Anybody can make
// up others with the same hash, as many as he likes.
bool Node::is_in_use(Instant now, const std::string& uid) const {
  const KnownPod* pod = pods_.find(uid);
  if (pod == nullptr) return false;
  // The API server is often quicker to tell of its pods than tenants are to come back.
  if (now - start_ <= kReadoption && pods_awaited_.contains(uid)) return true;
  const auto& tenants = clients_.tenants();
  return std::any_of(tenants.begin(), tenants.end(), [&](const auto& entry) {
    const Tenant& tenant = entry.second;
    if (tenant.pod_uid.empty()) return false;
    if (tenant.pod_uid == uid) return true;
    return tenant.pod_uid == pod->static_uid && tenant.pod_namespace == pod->name.space &&
           tenant.pod == pod->name.name;
  });
}

// After a tenant has left, or time has passed.
void Node::forget_pods(Instant now) {
  const auto forgotten = std::erase_if(pods_gone_, [this, now](const std::string& uid) {
    if (is_in_use(now, uid)) return false;
    pods_.remove_pod(uid);
    return true;
  });
  if (forgotten > 0) keep_pods();
}

void Node::identify_all(Instant now, Effects& effects) {
  for (const core::TenantId id : clients_.ids()) {
    Tenant& tenant = clients_.at(id);
    const TenantLimits before = tenant.limits;
    identify(tenant);
    if (tenant.limits.memory() != before.memory()) write_limits(tenant);
    // Whoever may annotate a pod has no say in what others are owed.
    const core::Share cap = tenant.limits.cap();
    if (cap != before.cap()) step(now, core::CapSet{id, cap, false}, effects);
  }
}

bool Node::give_up_container(const Tenant& tenant) {
  const auto held = containers_.find({tenant.pod_uid, tenant.container_name});
  if (held == containers_.end() || held->second != tenant.id) return false;
  containers_.erase(held);
  return true;
}

void Node::identify(Tenant& tenant) {
  give_up_container(tenant);
  PodIdentity identity = pods_.identify(tenant.pod_uid, tenant.slot);
  // Which of its pod's containers it is, the kernel does not say. If two could be the one that
  // asked for most, both would have that.
  if (identity.use != nullptr &&
      !containers_.try_emplace({tenant.pod_uid, identity.use->container}, tenant.id).second)
    identity = pods_.unverified(tenant.pod_uid, "another container of its pod has its slot");
  const bool is_new =
      identity.standing != tenant.standing || identity.reason != tenant.standing_reason;
  tenant.standing = identity.standing;
  tenant.standing_reason = identity.reason;
  const TenantLimits before = tenant.limits;
  const bool is_verified = identity.standing == Standing::verified;
  if (is_verified) {
    tenant.pod_namespace = identity.use->pod.space;
    tenant.pod = identity.use->pod.name;
    tenant.container_name = identity.use->container;
    tenant.name = tenant.pod_namespace + "/" + tenant.pod;
  }
  const KnownPod* pod = identity.pod;
  tenant.annotation_errors = pod != nullptr ? pod->errors : std::vector<std::string>{};
  tenant.limits.set_trust(identity.standing == Standing::unverified ? TenantLimits::Trust::none
                                                                    : TenantLimits::Trust::full);
  tenant.limits.say(LimitSource::annotation, pod != nullptr ? pod->memory : MemoryWord{});
  tenant.limits.say(LimitSource::annotation, pod != nullptr ? pod->cores : CoresWord{});
  tenant.limits.say(LimitSource::resource, identity.memory);
  tenant.limits.say(LimitSource::resource, identity.cores);
  if (is_new && is_verified) {
    log(Level::info, "tenant verified",
        fields_of(tenant, {{"container", tenant.container_name}, {"slot", tenant.slot}}));
  } else if (is_new && identity.standing == Standing::unverified) {
    log(Level::warning, "tenant not verified: it gets the lowest of all that is said of it",
        fields_of(tenant, {{"slot", tenant.slot}, {"reason", identity.reason}}));
  }
  const bool is_other = tenant.limits.memory() != before.memory() ||  //
                        tenant.limits.cores() != before.cores();
  if (is_other && !tenant.clients.empty()) log_limits("limits of a tenant", tenant);
}

}  // namespace nvs::daemon
