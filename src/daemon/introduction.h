// SPDX-License-Identifier: Apache-2.0
// What a client says of itself in its Hello, and what the kernel says of it.
#pragma once

#include "daemon/client_table.h"
#include "daemon/identity.h"
#include "daemon/node.h"
#include "daemon/status.h"
#include "wire/messages.h"

namespace nvs::daemon {

inline core::Priority priority_of(wire::u32 wish) {
  switch (static_cast<wire::WirePriority>(wish)) {
    case wire::WirePriority::low:
      return core::Priority::low;
    case wire::WirePriority::high:
      return core::Priority::high;
    default:
      return core::Priority::normal;
  }
}

inline Wishes wishes_of(const wire::Hello& hello) {
  static_assert(sizeof hello.memory_limit == kLimitTextMax + 1);
  const auto source = [&](wire::HelloFlag of_run) {
    const bool is_of_run = (hello.flags & (wire::kLimitsOfRun | of_run)) != 0;
    return is_of_run ? LimitSource::run : LimitSource::environment;
  };
  return {priority_of(hello.priority), hello.memory_limit, hello.core_limit,
          source(wire::kMemoryOfRun), source(wire::kCoresOfRun)};
}

// The tenant as this client would describe it.
inline Tenant tenant_of(const Peer& peer, const wire::Hello& hello) {
  Tenant tenant;
  tenant.key = peer.tenant_key;
  tenant.program = hello.program;
  tenant.pod = hello.pod;
  tenant.pod_namespace = hello.pod_namespace;
  tenant.name = tenant_name(tenant.pod_namespace, tenant.pod, tenant.program, peer.pid);
  tenant.container = peer.container;
  tenant.pod_uid = peer.pod_uid;
  tenant.slot = hello.slot;
  tenant.paused = (hello.flags & wire::kPaused) != 0;
  return tenant;
}

}  // namespace nvs::daemon
