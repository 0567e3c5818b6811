// SPDX-License-Identifier: Apache-2.0
// What comes from outside the flow of windows: an administrator's settings, and clients that leave.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/node.h"

namespace nvs::core {

constexpr std::uint32_t weight_within(std::uint32_t weight) {
  return std::clamp<std::uint32_t>(weight, 1, 1000);
}

constexpr Share cap_within(Share cap) { return std::min(cap, kWholeGpu); }

void set_policy(Node& node, Gpu& gpu, const GpuPolicy& policy);
void set_priority(Node& node, Tenant& tenant, Priority priority);
void set_weight(Node& node, Tenant& tenant, std::uint32_t weight);
void pause(Node& node, Tenant& tenant);
void resume(Node& node, Tenant& tenant);
void remove_client(Node& node, Client& client);

}  // namespace nvs::core
