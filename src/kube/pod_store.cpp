// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_store.h"

#include <set>
#include <utility>

#include "kube/limits.h"

namespace nvs::kube {

void PodStore::put(Pod pod, std::vector<PodChange>& changes) {
  const auto known = pods_.find(pod.uid);
  if (known == pods_.end()) {
    is_full_ = pods_.size() >= kPodsMax;
    if (is_full_) return;
    changes.push_back({PodChange::Kind::added, pod});
    pods_.emplace(pod.uid, std::move(pod));
  } else if (known->second != pod) {
    changes.push_back({PodChange::Kind::changed, pod});
    known->second = std::move(pod);
  }
}

void PodStore::apply(PodEvent event, std::vector<PodChange>& changes) {
  if (event.kind != PodEvent::Kind::deleted) return put(std::move(event.pod), changes);
  const auto known = pods_.find(event.pod.uid);
  if (known == pods_.end()) return;
  changes.push_back({PodChange::Kind::removed, std::move(known->second)});
  pods_.erase(known);
}

void PodStore::replace(std::vector<Pod> pods, std::vector<PodChange>& changes) {
  std::set<std::string> present;
  for (const Pod& pod : pods) present.insert(pod.uid);
  for (auto known = pods_.begin(); known != pods_.end();) {
    if (present.count(known->first) > 0) {
      ++known;
      continue;
    }
    changes.push_back({PodChange::Kind::removed, std::move(known->second)});
    known = pods_.erase(known);
  }
  is_full_ = false;
  for (Pod& pod : pods) {
    put(std::move(pod), changes);
  }
}

}  // namespace nvs::kube
