// SPDX-License-Identifier: Apache-2.0
// How many pods have a slot of each GPU now. Nobody says when a slot is given back, so this joins
// what PodResources lists, what the kubelet says it could give away, and what was given away since
// the list was made. Init containers are in no list: what they were given here is in use for as
// long as the kubelet keeps it back. It survives restarts of plugin and kubelet because it keeps
// nothing of worth.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

// A device that a container has. The same id may be of two resources, where the settings changed
// the name: then it is two devices of one GPU.
struct PodDevice {
  std::string resource;
  std::string id;
  auto operator<=>(const PodDevice&) const = default;
};

class Usage {
 public:
  // A list that is older says nothing any more.
  static constexpr Duration kListStale = Duration::from_s(60);
  // What was allocated so short before a list was asked for may not be in it yet.
  static constexpr Duration kListGrace = Duration::from_s(10);

  // A kubelet that has just come does not know all its pods yet, but remembers their devices: for a
  // while, what it does not list is not taken for ended, and what it does not call free is in use.
  static constexpr Duration kKubeletComesToItself = Duration::from_s(60);
  void kubelet_came(Instant now) { doubtful_until_ = now + kKubeletComesToItself; }
  bool is_doubtful(Instant now) const { return doubtful_until_ && now < *doubtful_until_; }

  // All devices that containers have, whatever the resource.
  void listed(Instant asked_at, std::set<PodDevice> devices);
  void allocated(Instant now, const std::string& resource, const std::vector<std::string>& ids);

  // Whether something was allocated lately of which no list has told.
  bool awaits_list(Instant now) const;

  // By GPU of the inventory. `available` is what the kubelet says is free of a resource: it is
  // never in use.
  std::vector<unsigned> counts(Instant now, const Inventory& inventory, const std::string& resource,
                               const std::vector<std::string>& available) const;

  // Whether every slot that somebody has was allocated by this process; no if it is not known.
  bool all_are_ours(Instant now) const;

 private:
  bool is_known(Instant now) const;

  std::set<PodDevice> listed_;
  std::optional<Instant> listed_at_;
  std::optional<Instant> doubtful_until_;
  std::map<PodDevice, Instant> allocated_;  // not yet in a list
  // Allocated here, and in no list that should have told: an init container's, which the kubelet
  // keeps back until the pod ends, or given back since. Only together with the kubelet's word does
  // it mean anything.
  std::set<PodDevice> unlisted_;
  std::set<PodDevice> ours_;  // allocated here, and seen in every list since
};

}  // namespace nvs::plugin
