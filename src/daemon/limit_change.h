// SPDX-License-Identifier: Apache-2.0
// What an administrator changes of a tenant's limits; what is not mentioned stays, and an unset
// word takes back what was said.
#pragma once

#include <optional>

#include "daemon/tenant_limits.h"

namespace nvs::daemon {

struct LimitChange {
  std::optional<MemoryWord> memory;
  std::optional<CoresWord> cores;
};

}  // namespace nvs::daemon
