// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/find_holders.h"

#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "base/result.h"
#include "device_plugin/device_id.h"
#include "device_plugin/kubelet_client.h"
#include "device_plugin/kubelet_socket.h"
#include "device_plugin/offered_names.h"

namespace nvs::plugin {
namespace {

constexpr Duration kAnswerPatience = Duration::from_s(10);

// Others may name their devices as we do, but not after GPUs, or not under our resources' names.
bool is_ours(const SlotHolder& holder, const std::optional<std::set<std::string>>& names) {
  const auto device = parse_device_id(holder.slot);
  if (!device || !(device->uuid.starts_with("GPU-") || device->uuid.starts_with("MIG-"))) {
    return false;
  }
  return !names || names->contains(holder.resource);
}

}  // namespace

Parsed<std::vector<SlotHolder>> find_holders(const PluginOptions& options) {
  auto pods = list_pods(options.pod_resources, kAnswerPatience, std::stop_token());
  if (!pods) return tl::unexpected(options.pod_resources + ": " + pods.error());
  std::vector<SlotHolder> holders = std::move(pods->holders);
  const auto names = offered_ever(options.root_mount);
  std::erase_if(holders, [&names](const SlotHolder& holder) { return !is_ours(holder, names); });
  // Looked at after the answer: whoever gave it did not come later.
  if (holders.empty() && !has_been_there(options.pod_resources)) {
    return tl::unexpected(options.pod_resources +
                          ": the kubelet came less than a minute ago, and may not know its pods");
  }
  return holders;
}

}  // namespace nvs::plugin
