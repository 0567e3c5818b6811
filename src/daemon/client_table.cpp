// SPDX-License-Identifier: Apache-2.0
#include "daemon/client_table.h"

#include <algorithm>

#include "base/assert.h"
#include "daemon/limits.h"

namespace nvs::daemon {

// A pod's name is its own field too: the tenant's is its program's where the pod's is not known.
Fields fields_of(const Tenant& tenant, const Fields& more) {
  Fields fields{{"tenant", tenant.name}, {"tenant_id", static_cast<std::uint64_t>(tenant.id)}};
  if (!tenant.pod_namespace.empty()) fields.emplace_back("namespace", tenant.pod_namespace);
  if (!tenant.pod.empty()) fields.emplace_back("pod", tenant.pod);
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

Tenant* ClientTable::find(const std::string& key) {
  const auto found = tenant_of_key_.find(key);
  return found == tenant_of_key_.end() ? nullptr : &tenants_.at(found->second);
}

std::vector<core::TenantId> ClientTable::ids() const {
  std::vector<core::TenantId> result;
  result.reserve(tenants_.size());
  for (const auto& [id, tenant] : tenants_) result.push_back(id);
  return result;
}

Tenant& ClientTable::add_tenant(core::TenantId id, Tenant tenant) {
  tenant.id = id;
  tenant.clients.clear();
  const bool is_new_key = tenant_of_key_.emplace(tenant.key, id).second;
  const auto [added, is_new_id] = tenants_.emplace(id, std::move(tenant));
  NVS_ASSERT(is_new_key && is_new_id);
  return added->second;
}

void ClientTable::add_client(core::ClientId client, core::TenantId tenant, pid_t pid) {
  tenants_.at(tenant).clients.push_back(client);
  const bool is_new = clients_.emplace(client, Client{tenant, pid, {}, {}}).second;
  NVS_ASSERT(is_new);
}

void ClientTable::remove_client(core::ClientId client) {
  const auto found = clients_.find(client);
  NVS_ASSERT(found != clients_.end());
  const core::TenantId id = found->second.tenant;
  clients_.erase(found);
  Tenant& tenant = tenants_.at(id);
  std::erase(tenant.clients, client);
  if (!tenant.clients.empty()) return;
  departed_.emplace_back(id, std::move(tenant.name));
  if (departed_.size() > kDepartedMax) departed_.pop_front();
  tenant_of_key_.erase(tenant.key);
  tenants_.erase(id);
}

}  // namespace nvs::daemon
