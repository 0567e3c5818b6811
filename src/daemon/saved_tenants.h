// SPDX-License-Identifier: Apache-2.0
// Settings that administrators made for a tenant are kept while it is away, by its key
// (Peer::tenant_key), and not for ever: those of tenants that have ended would add up until none
// can be kept any more. Who is here has not ended, and is not to be asked about.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "daemon/state_file.h"

namespace nvs::daemon {

using TenantSettingsByKey = std::map<std::string, TenantSettings>;
using IsHere = std::function<bool(const std::string& key)>;

// Above so many, it is looked after runs and containers too.
inline constexpr std::size_t kSavedTenantsKept = 1024;
static_assert(kSavedTenantsKept < kSavedTenantsMax);

struct SystemRoots {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
};

// Those that are one process: its number is free, or another one's by now. Cheap if there are few.
void forget_ended_processes(TenantSettingsByKey& tenants, const IsHere& is_here = nullptr,
                            const SystemRoots& roots = {});

// Runs of which no process is seen, and containers whose cgroup is gone. It looks at all processes
// of the machine, once. Where it cannot see that they are gone they stay.
void forget_ended_groups(TenantSettingsByKey& tenants, const IsHere& is_here,
                         const SystemRoots& roots = {});

}  // namespace nvs::daemon
