// SPDX-License-Identifier: Apache-2.0
// The pods of this node as last heard of. It says what is different after an event, or after a
// whole new list: only that is news to anybody. Most events of a pod are about its status, and none
// of our business.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kube/pod.h"
#include "kube/watch_event.h"

namespace nvs::kube {

struct PodChange {
  enum class Kind : std::uint8_t { added, changed, removed };
  Kind kind = Kind::added;
  Pod pod;  // as it is now; of one that was removed, as it was
  bool operator==(const PodChange&) const = default;
};

class PodStore {
 public:
  void apply(PodEvent event, std::vector<PodChange>& changes);
  // All pods that there are. Those that are gone come first in what has changed.
  void replace(std::vector<Pod> pods, std::vector<PodChange>& changes);

  std::size_t size() const { return pods_.size(); }
  // More pods than kPodsMax: those that came last are not known.
  bool is_full() const { return is_full_; }

 private:
  void put(Pod pod, std::vector<PodChange>& changes);

  std::map<std::string, Pod> pods_;  // by uid: names are used again
  bool is_full_ = false;
};

}  // namespace nvs::kube
