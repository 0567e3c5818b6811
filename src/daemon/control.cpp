// SPDX-License-Identifier: Apache-2.0
#include "daemon/control.h"

namespace nvs::daemon {

std::vector<AdminGpu> Control::gpus() {
  std::vector<AdminGpu> gpus;
  for (const GpuEntry& entry : node_.gpus().entries()) {
    gpus.push_back({static_cast<core::GpuId>(gpus.size()), entry.gpu.uuid, entry.policy,
                    entry.gpu.mps_active});
  }
  return gpus;
}

std::vector<AdminTenant> Control::tenants() {
  std::vector<AdminTenant> tenants;
  for (const auto& [id, tenant] : node_.clients().tenants()) tenants.push_back({id, tenant.name});
  return tenants;
}

void Control::set_policy(core::GpuId gpu, const core::GpuPolicy& policy) {
  node_.set_policy(loop_.now(), gpu, policy, sessions_.effects());
  sessions_.settle();
}

void Control::set_priority(core::TenantId tenant, core::Priority priority) {
  node_.set_priority(loop_.now(), tenant, priority, sessions_.effects());
  sessions_.settle();
}

void Control::set_weight(core::TenantId tenant, std::uint32_t weight) {
  node_.set_weight(loop_.now(), tenant, weight, sessions_.effects());
  sessions_.settle();
}

void Control::set_limits(core::TenantId tenant, const LimitChange& change) {
  node_.set_limits(loop_.now(), tenant, change, sessions_.effects());
  sessions_.settle();
}

void Control::set_slots(const SlotChange& change) {
  node_.update_slots(loop_.now(), change, sessions_.effects());
  sessions_.settle();
}

// The clients hear of the pause before their windows close for it, so that they know it even if the
// daemon ends in between.
void Control::set_paused(core::TenantId tenant, bool paused) {
  node_.set_paused(loop_.now(), tenant, paused, sessions_.effects());
  sessions_.tell_paused(node_.clients().at(tenant));
  sessions_.settle();
}

}  // namespace nvs::daemon
