// SPDX-License-Identifier: Apache-2.0
// All that the kubelet's calls are answered from, in memory: the kubelet waits for them without a
// deadline while a pod is admitted. Threads that learn something put it here; those that serve
// calls take it from here, and no lock is held for longer than that takes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device_plugin/allocate.h"
#include "device_plugin/config.h"
#include "device_plugin/inventory.h"
#include "device_plugin/kubelet_client.h"
#include "device_plugin/preferred.h"
#include "device_plugin/usage.h"

namespace nvs::plugin {

// What the settings and the GPUs of the node make together. It is replaced as a whole.
struct Offer {
  Config config;
  Inventory inventory;
  HostPaths host;
  const OfferedResource* find(const std::string& resource) const;
};

struct ListedDevice {
  std::string id;
  bool is_healthy = true;
  std::optional<int> numa_node;
};

class Answers {
 public:
  // Whether a file is there. Device files come with the driver's modules, and a module may be
  // loaded after us: on a host its files are seen then, but in a pod /dev stays what it was at the
  // start.
  using HasFile = std::function<bool(const std::string& path)>;
  static bool is_there(const std::string& path);
  explicit Answers(HasFile has_file = is_there) : has_file_(std::move(has_file)) {}

  void set_offer(std::shared_ptr<const Offer> offer);
  std::shared_ptr<const Offer> offer() const;
  // Of whole GPUs and of instances, by UUID: all devices of an unhealthy one are.
  void set_unhealthy(std::set<std::string> gpus);
  // All devices are unhealthy, those of GPUs to come too.
  void set_withheld(bool is_withheld);
  // By UUID; GPUs that are not there have none.
  void set_loads(std::map<std::string, double> loads);
  void kubelet_came(Instant now);
  // False: nobody's slots are other ones than before, and no more is known of others.
  bool listed(Instant asked_at, ListedPods pods);
  std::vector<SlotHolder> holders() const;
  SlotList slots() const;
  bool all_slots_are_ours(Instant now) const;
  // Something was allocated of which no list has told yet.
  bool awaits_list(Instant now) const;

  // Whether it matters which devices of it a container gets.
  bool prefers(const std::string& resource) const;
  std::vector<ListedDevice> devices(const std::string& resource) const;
  Parsed<std::vector<std::string>> prefer(Instant now, const std::string& resource,
                                          const PreferredRequest& request) const;
  tl::expected<ContainerAnswer, AllocateError> allocate(Instant now, const std::string& resource,
                                                        const std::vector<std::string>& ids);

 private:
  HasFile has_file_;
  mutable std::mutex lock_;  // of all that follows
  std::shared_ptr<const Offer> offer_ = std::make_shared<Offer>();
  std::set<std::string> unhealthy_;
  bool is_withheld_ = false;
  std::map<std::string, double> loads_;
  Usage usage_;
  SlotList slots_;
};

}  // namespace nvs::plugin
