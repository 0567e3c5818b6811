// SPDX-License-Identifier: Apache-2.0
// What an administrator has set must outlive the daemon: policies of GPUs, and priorities, weights,
// pauses and limits of tenants, in FOLDER/state.json. So must what the API server said of pods and
// the kubelet of slots: they may be away when the next daemon starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/policy.h"
#include "daemon/pods.h"
#include "daemon/tenant_limits.h"

namespace nvs::daemon {

struct TenantSettings {
  std::optional<core::Priority> priority;
  std::optional<std::uint32_t> weight;
  bool paused = false;
  MemoryWord memory = {};
  CoresWord cores = {};

  bool operator==(const TenantSettings&) const = default;
  // Nothing is set: the tenant need not be kept.
  bool is_default() const { return *this == TenantSettings{}; }
};

struct SavedState {
  std::map<std::string, core::GpuPolicy> gpus;    // by UUID
  std::map<std::string, TenantSettings> tenants;  // by Peer::tenant_key
  SavedPods pods = {};
  SavedSlots slots = {};
};

inline constexpr std::size_t kStateFileBytesMax = std::size_t{8} << 20U;
inline constexpr std::size_t kSavedTenantsMax = 4096;

std::string state_path(const std::string& folder);

// Nothing is there: an empty state. A broken file is renamed to state.json.bad and answered with an
// empty state and a `remark` for the log. A pod or slot that is not understood is left out, with a
// remark too. An error means that the file cannot be read at all.
Result<SavedState> load_state(const std::string& folder, std::string& remark);

// Replaces the file in one piece, readable by its owner only. Tenants without settings are left
// out.
Result<void> save_state(const std::string& folder, const SavedState& state);

}  // namespace nvs::daemon
