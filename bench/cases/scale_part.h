// SPDX-License-Identifier: Apache-2.0
// The two parts of the case `scale`: the pure core, driven by a world of tenants in memory, and the
// daemon, driven by very many connections.
#pragma once

#include "bench/case.h"
#include "bench/progress.h"
#include "bench/wire_clients.h"

namespace nvs::bench::scale_case {

void measure_core(const Bench& bench, Progress& progress);
inline constexpr int kCoreSteps = 5;

void measure_daemon(const Bench& bench, Progress& progress);
inline constexpr int kDaemonSteps = 2;
// Throws Failure unless all was done that there was to be done: a daemon that gives no windows uses
// no processor time either.
void expect_served(const WireClients::Counted& counted, std::size_t gpus, double elapsed_s);

}  // namespace nvs::bench::scale_case
