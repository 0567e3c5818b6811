// SPDX-License-Identifier: Apache-2.0
// The two parts of the case `scale`: the pure core, driven by a world of tenants in memory, and the
// daemon, driven by very many connections.
#pragma once

#include "bench/case.h"
#include "bench/progress.h"

namespace nvs::bench::scale_case {

void measure_core(const Bench& bench, Progress& progress);
inline constexpr int kCoreSteps = 5;

void measure_daemon(const Bench& bench, Progress& progress);
inline constexpr int kDaemonSteps = 2;

}  // namespace nvs::bench::scale_case
