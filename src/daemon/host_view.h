// SPDX-License-Identifier: Apache-2.0
// Host memory as people see it in `status`.
#pragma once

#include <cstdint>
#include <map>

#include "core/ids.h"

namespace nvs::daemon {

struct HostView {
  std::uint64_t cap_bytes = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t held_bytes = 0;      // by clients
  std::uint64_t kept_bytes = 0;      // by clients, from an earlier daemon
  std::uint64_t promised_bytes = 0;  // to clients, who get it as it is made
  std::uint64_t ready_bytes = 0;     // made, and nobody's
  std::uint64_t touching_bytes = 0;  // being made
  std::uint64_t freeing_bytes = 0;   // on its way back to the system
  std::uint64_t refused = 0;         // requests that were denied, in part or in full
  bool huge_pages = false;
  std::map<core::TenantId, std::uint64_t> tenants;  // what each holds, if anything
};

}  // namespace nvs::daemon
