// SPDX-License-Identifier: Apache-2.0
// What a request of the device plugin says of slots.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/admin_request.h"
#include "daemon/slot_change.h"

namespace nvs::daemon {

// Its members `used` (objects of `slot`, `namespace`, `pod` and `container`, and of `memory_bytes`
// and `cores` where the container asked for them), `freed` (slots), `begins` and `ends`, each of
// which may be missing.
Checked<SlotChange> slot_change(const nlohmann::json& request);

}  // namespace nvs::daemon
