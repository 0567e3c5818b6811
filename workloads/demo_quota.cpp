// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_quota.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "workloads/quota.h"
#include "workloads/result_table.h"

namespace nvs::workloads {

bool show_quotas(const Stage& stage, double length) {
  const QuotaPlan plan = plan_quotas(length);
  QuotaWatch watch(plan);
  std::string refusals;
  const auto on_status = [&](const NodeStatus& status, std::span<const Tenant> tenants) {
    for (const CoreLimit& limit : watch.take(status, tenants)) {
      const auto set = stage.daemon->limit_cores(limit.tenant, limit.percent);
      if (!set) refusals += fmt::format("A cap cannot be changed: {}\n", set.error().message());
    }
  };
  const ScenePlay play = play_scene(plan.scene, stage, Shown::kGpus, on_status);
  if (stage.is_cancelled()) return false;
  if (!play.failure.empty()) {
    fmt::print(stderr, "nvshare-demo: {}\n", play.failure);
    return false;
  }
  const std::vector<QuotaRow> rows = watch.rows(play.tenants);
  const std::string trouble = refusals + render_trouble(play);
  fmt::print("{}{}{}{}", render_quotas(rows), render_failures(play.tenants),
             play.shares.render_switches(), trouble);
  std::fflush(stdout);
  return trouble.empty() && std::all_of(rows.begin(), rows.end(), is_good);
}

}  // namespace nvs::workloads
