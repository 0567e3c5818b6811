// SPDX-License-Identifier: Apache-2.0
#include "workloads/share_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/progress.h"
#include "workloads/size.h"
#include "workloads/table.h"

namespace nvs::workloads {
namespace {

constexpr double kMsPerSecond = 1000;
constexpr unsigned kMemoryBarWidth = 20;
// Once is not enough: a tenant may end between its last word to us and our question to the daemon.
constexpr int kMissedMax = 2;

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

void ShareView::take(const NodeStatus& status, std::span<const Tenant> tenants) {
  shares_.resize(tenants.size());
  for (auto& [number, gpu] : gpus_) {
    gpu.holder.clear();
    gpu.waiting.clear();
    gpu.throttled.clear();
  }
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const Tenant& tenant = tenants[i];
    shares_[i].label = tenant.spec.label;
    shares_[i].gpu = tenant.spec.gpu;
    const NodeTenant* at_node = find_tenant(status, tenant.pid);
    shares_[i].there = at_node != nullptr;
    const bool missing = at_node == nullptr && tenant.phase == Phase::kRunning;
    shares_[i].missed = missing ? shares_[i].missed + 1 : 0;
    shares_[i].lost |= shares_[i].missed >= kMissedMax;
    if (at_node != nullptr) take_use(tenant, *at_node, status, shares_[i]);
  }
}

// A workload uses one GPU, so what the daemon knows of it is about that one.
void ShareView::take_use(const Tenant& tenant, const NodeTenant& at_node, const NodeStatus& status,
                         Share& share) {
  if (at_node.gpus.empty()) return;
  share.seen = true;
  share.use = at_node.gpus.front();
  const auto found = std::find_if(status.gpus.begin(), status.gpus.end(),
                                  [&](const NodeGpu& gpu) { return gpu.index == share.use.gpu; });
  if (found == status.gpus.end()) return;
  Gpu& gpu = gpus_[tenant.spec.gpu];
  if (!gpu.seen) gpu.first = *found;
  gpu.seen = true;
  gpu.latest = *found;
  if (found->holder == at_node.id) gpu.holder = tenant.spec.label;
  if (share.use.state == "waiting") gpu.waiting.push_back(tenant.spec.label);
  if (share.use.state == "throttled") gpu.throttled.push_back(tenant.spec.label);
}

std::vector<std::string> ShareView::render_gpus() const {
  std::vector<std::string> lines;
  for (const auto& [number, gpu] : gpus_) {
    std::string line = gpu.holder.empty() ? fmt::format("GPU {}  held by nobody", number)
                                          : fmt::format("GPU {}  held by {}", number, gpu.holder);
    if (!gpu.waiting.empty()) line += fmt::format("; waiting: {}", fmt::join(gpu.waiting, ", "));
    if (!gpu.throttled.empty()) {
      line += fmt::format("; had its share: {}", fmt::join(gpu.throttled, ", "));
    }
    line += fmt::format("; {} switches", gpu.latest.switches - gpu.first.switches);
    lines.push_back(std::move(line));
  }
  return lines;
}

// A tenant that has left keeps its line: what is below must not move up.
std::vector<std::string> ShareView::render_memory(double scale) const {
  std::vector<std::string> lines;
  for (const Share& share : shares_) {
    const double resident = static_cast<double>(share.use.resident_bytes) * scale;
    const double swapped = static_cast<double>(share.use.swapped_bytes) * scale;
    if (resident + swapped == 0) continue;
    const double part = share.there ? resident / (resident + swapped) : 0;
    const std::string what =
        share.there ? fmt::format("{} there, {} swapped out, {}",
                                  format_size(static_cast<std::uint64_t>(resident)),
                                  format_size(static_cast<std::uint64_t>(swapped)), share.use.state)
                    : "gone";
    lines.push_back(fmt::format("{}  GPU {}  {}  {}", share.label, share.gpu,
                                render_bar(part, kMemoryBarWidth), what));
  }
  return lines;
}

std::vector<std::string> ShareView::lost() const {
  std::vector<std::string> labels;
  for (const Share& share : shares_) {
    if (share.lost) labels.push_back(share.label);
  }
  return labels;
}

double ShareView::used_on(int gpu) const {
  double seconds = 0;
  for (const Share& share : shares_) {
    if (share.gpu == gpu) seconds += share.use.used_seconds;
  }
  return seconds;
}

std::string ShareView::render_table() const {
  if (gpus_.empty()) return "";
  Table table({{"tenant"},
               {"GPU", Align::kRight},
               {"held s", Align::kRight},
               {"share %", Align::kRight},
               {"windows", Align::kRight},
               {"longest wait ms", Align::kRight}});
  for (const Share& share : shares_) {
    if (!share.seen) continue;
    table.add_row({share.label, std::to_string(share.gpu),
                   fmt::format("{:.2f}", share.use.used_seconds),
                   fmt::format("{:.0f}", percent(share.use.used_seconds, used_on(share.gpu))),
                   std::to_string(share.use.windows),
                   fmt::format("{:.0f}", share.use.longest_wait_seconds * kMsPerSecond)});
  }
  return table.render() + render_switches();
}

std::string ShareView::render_switches() const {
  std::string text;
  for (const auto& [number, gpu] : gpus_) {
    const double held = gpu.latest.held_seconds - gpu.first.held_seconds;
    const double handover = gpu.latest.handover_seconds - gpu.first.handover_seconds;
    text +=
        fmt::format("GPU {}: {} switches, {:.1f} % of the time closing windows\n", number,
                    gpu.latest.switches - gpu.first.switches, percent(handover, held + handover));
  }
  return text;
}

}  // namespace nvs::workloads
