// SPDX-License-Identifier: Apache-2.0
#include "workloads/quota.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "workloads/table.h"

namespace nvs::workloads {
namespace {

constexpr double kSettleSeconds = 1;
constexpr double kSecondsUnderACap = 4;
// Shorter ones are over before a busy machine has looked at them.
constexpr double kSecondsUnderACapMin = 1.2;
// The machine of a simulator has other work too.
constexpr double kPointsMax = 5;
// A window more or less is several points of a shorter time.
constexpr double kJudgedSecondsMin = 1.5;

TenantSpec capped_tenant(const char* label, int cap, double seconds) {
  // Small enough that the program waits for the GPU within a window, on a T4 too.
  return {.label = label,
          .gpu = 0,
          .arguments = {"add-small", "--size", "1GiB", "--seconds", fmt::format("{:.3f}", seconds)},
          .environment = {fmt::format("NVSHARE_GPU_CORE_LIMIT={}", cap)}};
}

bool is_judged(const QuotaGot& got) { return got.seconds >= kJudgedSecondsMin; }

// Empty if it is as it should be.
std::string complaint(const QuotaGot& got) {
  if (got.seconds <= 0) return fmt::format("what it got of its {} % was not seen", got.cap);
  if (got.in_force != got.cap) return fmt::format("its cap of {} % was not in force", got.cap);
  if (!is_judged(got) || std::abs(got.percent - got.cap) <= kPointsMax) return "";
  return fmt::format("{:.1f} % is more than {:.0f} points off its cap of {} %", got.percent,
                     kPointsMax, got.cap);
}

std::string cap_cell(const QuotaGot& got) {
  return got.in_force ? fmt::format("{:.0f}", *got.in_force) : "-";
}

std::string got_cell(const QuotaGot& got) {
  return got.seconds > 0 ? fmt::format("{:.1f}", got.percent) : "-";
}

}  // namespace

QuotaPlan plan_quotas(double length) {
  QuotaPlan plan{
      .scene = {.title = "Two tasks that never rest, with 30 and 60 % of a GPU; halfway through, "
                         "60 and 30",
                .tenants = {}},
      .caps = {{30, 60}, {60, 30}},
      .settle_seconds = kSettleSeconds * std::min(1.0, length),
      .change_seconds = std::max(kSecondsUnderACap * length, kSecondsUnderACapMin)};
  const double seconds = 2 * plan.change_seconds;
  plan.scene.tenants = {capped_tenant("add, first", plan.caps[0].before, seconds),
                        capped_tenant("add, second", plan.caps[1].before, seconds)};
  return plan;
}

std::vector<CoreLimit> QuotaWatch::take(const NodeStatus& status, std::span<const Tenant> tenants) {
  Look look{.at_seconds = status.uptime_seconds};
  std::vector<CoreLimit> limits;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const NodeTenant* at_node = find_tenant(status, tenants[i].pid);
    // A share is one of two, so nothing counts but the time in which all are at work.
    if (tenants[i].phase != Phase::kRunning || at_node == nullptr || at_node->gpus.empty()) {
      return {};
    }
    look.uses.push_back(at_node->gpus.front());
    limits.push_back({at_node->id, plan_.caps[i].after});
  }
  const double now = look.at_seconds;
  if (!started_at_) started_at_ = now;
  if (now - changed_at_.value_or(*started_at_) < plan_.settle_seconds) return {};
  (changed_at_ ? after_ : before_).take(std::move(look));
  if (changed_at_ || !before_.end || now - *started_at_ < plan_.change_seconds) return {};
  changed_at_ = now;
  return limits;
}

QuotaGot QuotaWatch::Window::got(std::size_t tenant, int cap) const {
  if (!begin || !end || end->at_seconds <= begin->at_seconds) return {.cap = cap};
  const double seconds = end->at_seconds - begin->at_seconds;
  const GpuUse& first = begin->uses[tenant];
  const GpuUse& last = end->uses[tenant];
  return {.cap = cap,
          .in_force = last.cap_in_force_percent,
          .seconds = seconds,
          .percent = 100 * (last.used_seconds - first.used_seconds) / seconds};
}

std::vector<QuotaRow> QuotaWatch::rows(std::span<const Tenant> tenants) const {
  std::vector<QuotaRow> rows;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const Window& latest = after_.end ? after_ : before_;
    rows.push_back({.label = tenants[i].spec.label,
                    .gpu = tenants[i].spec.gpu,
                    .before = before_.got(i, plan_.caps[i].before),
                    .after = after_.got(i, plan_.caps[i].after),
                    .throttled_seconds = latest.end ? latest.end->uses[i].throttled_seconds : 0,
                    .data_right = tenants[i].result.pass});
  }
  return rows;
}

bool is_good(const QuotaRow& row) {
  return row.data_right && complaint(row.before).empty() && complaint(row.after).empty();
}

std::string render_quotas(std::span<const QuotaRow> rows) {
  Table table({{"tenant"},
               {"GPU", Align::kRight},
               {"cap %", Align::kRight},
               {"got %", Align::kRight},
               {"then cap %", Align::kRight},
               {"got %", Align::kRight},
               {"throttled s", Align::kRight},
               {"result"}});
  std::string sentences;
  bool judged = true;
  for (const QuotaRow& row : rows) {
    table.add_row({row.label, std::to_string(row.gpu), cap_cell(row.before), got_cell(row.before),
                   cap_cell(row.after), got_cell(row.after),
                   fmt::format("{:.1f}", row.throttled_seconds), is_good(row) ? "PASS" : "FAIL"});
    for (const QuotaGot* got : {&row.before, &row.after}) {
      const std::string wrong = complaint(*got);
      // Why a tenant failed is told elsewhere, and it explains the rest.
      if (row.data_right && !wrong.empty()) sentences += fmt::format("{}: {}.\n", row.label, wrong);
      judged &= got->seconds <= 0 || is_judged(*got);
    }
  }
  if (!judged) sentences += "Too short to judge what each got.\n";
  return table.render() + sentences;
}

}  // namespace nvs::workloads
