// SPDX-License-Identifier: Apache-2.0
// The one clock of the programs: it never goes back and is the same for all processes.
#pragma once

#include "base/instant.h"

namespace nvs::os {

Instant monotonic_now();

}  // namespace nvs::os
