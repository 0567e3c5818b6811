// SPDX-License-Identifier: Apache-2.0
// The host pool of this machine: as large as was asked for, or as half of the memory that there is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/host_plan.h"
#include "daemon/host_pool.h"

namespace nvs::daemon {

// `asked`: the cap in bytes, 0 for no pool. Said in the log.
HostPlan plan_for_this_machine(std::optional<std::uint64_t> asked);

// Without its threads there is no pool, with a warning in the log.
std::unique_ptr<HostPool> make_host_pool(const HostPlan& plan);

// So many threads touch memory on a machine with so many processors.
unsigned host_threads(unsigned processors);

}  // namespace nvs::daemon
