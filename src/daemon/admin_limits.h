// SPDX-License-Identifier: Apache-2.0
// What a request of an administrator changes of a tenant's limits.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/admin_request.h"
#include "daemon/limit_change.h"

namespace nvs::daemon {

// Its members `memory` and `cores`, of which one may be missing: texts as people write them, or
// numbers.
Checked<LimitChange> limit_change(const nlohmann::json& request);

}  // namespace nvs::daemon
