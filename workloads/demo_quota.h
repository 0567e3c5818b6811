// SPDX-License-Identifier: Apache-2.0
// The part of the demonstration in which tenants have caps on their GPU time, and an administrator
// changes them while they run.
#pragma once

#include "workloads/demo_scene.h"

namespace nvs::workloads {

// The stage has a daemon. Whether data and shares were right; of no meaning if it was cancelled.
bool show_quotas(const Stage& stage, double length);

}  // namespace nvs::workloads
