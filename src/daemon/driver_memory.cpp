// SPDX-License-Identifier: Apache-2.0
#include "daemon/driver_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

const ProcessMemory* find_process(const std::vector<ProcessMemory>& processes, pid_t pid) {
  const auto found = std::lower_bound(
      processes.begin(), processes.end(), static_cast<unsigned>(pid),
      [](const ProcessMemory& process, unsigned wanted) { return process.pid < wanted; });
  const bool is_there = found != processes.end() && found->pid == static_cast<unsigned>(pid);
  return is_there ? &*found : nullptr;
}

}  // namespace

std::map<core::TenantId, TenantUse> uses_of(const std::vector<ClaimedMemory>& clients,
                                            const std::vector<ProcessMemory>& processes) {
  std::map<core::TenantId, TenantUse> uses;
  std::set<core::TenantId> unknown;
  std::set<std::pair<core::TenantId, pid_t>> counted;  // a process may have come back meanwhile
  for (const ClaimedMemory& client : clients) {
    const ProcessMemory* process = find_process(processes, client.pid);
    if (process == nullptr && client.bytes == 0) continue;  // it has no context there
    if (process == nullptr || !process->bytes || !client.bytes) {
      unknown.insert(client.tenant);
      continue;
    }
    TenantUse& use = uses[client.tenant];
    use.claimed += *client.bytes;
    if (counted.emplace(client.tenant, client.pid).second) use.used += *process->bytes;
  }
  for (const core::TenantId tenant : unknown) uses.erase(tenant);
  return uses;
}

void DriverMemory::poll(core::GpuId gpu, const std::map<core::TenantId, TenantUse>& uses) {
  std::map<core::TenantId, Figure>& figures = gpus_[gpu];
  std::erase_if(figures, [&](const auto& figure) { return !uses.contains(figure.first); });
  for (const auto& [tenant, use] : uses) {
    const auto [entry, is_new] = figures.try_emplace(tenant);
    Figure& figure = entry->second;
    figure.still = !is_new && figure.last == use ? figure.still + 1 : 0;
    figure.last = use;
    const std::uint64_t bytes = use.used - std::min(use.used, use.claimed);
    const bool is_less = figure.bytes && bytes < *figure.bytes;
    if (figure.still >= (is_less ? kStillPollsForLess : kStillPollsForMore)) figure.bytes = bytes;
  }
}

std::optional<std::uint64_t> DriverMemory::bytes(core::TenantId tenant, core::GpuId gpu) const {
  const auto figures = gpus_.find(gpu);
  if (figures == gpus_.end()) return std::nullopt;
  const auto figure = figures->second.find(tenant);
  return figure != figures->second.end() ? figure->second.bytes : std::nullopt;
}

}  // namespace nvs::daemon
