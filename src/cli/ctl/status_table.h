// SPDX-License-Identifier: Apache-2.0
// The node's state as text, for `status`: GPUs, then tenants, one line each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/ctl/node_status.h"

namespace nvs::cli {

// Width 0: as wide as need be. Otherwise names give way, the rest does not.
std::string status_table(const NodeStatus& node, std::size_t width);

// What `status` and `top` have in common.
std::string headline(const NodeStatus& node);
std::string holder_text(const NodeStatus& node, const GpuStatus& gpu);
// Without its maker, who is always the same: the room is for the model.
std::string model_text(const GpuStatus& gpu);
std::string window_text(const GpuStatus& gpu);
std::string turn_text(const GpuStatus& gpu);
std::string limit_text(const UseStatus& use);  // "4.0GiB"
// In percent: "60", or "75>50" if less is in force than was asked for.
// "normal", or "normal x2.5" where its weight is no usual one.
std::string priority_text(const TenantStatus& tenant);
std::string cap_text(const UseStatus& use);
std::string lately_text(const std::optional<double>& share);
std::string throttled_text(const UseStatus& use);

}  // namespace nvs::cli
