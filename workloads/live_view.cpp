// SPDX-License-Identifier: Apache-2.0
#include "workloads/live_view.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "workloads/result_table.h"

namespace nvs::workloads {
namespace {

constexpr std::chrono::seconds kLineInterval{4};
constexpr std::size_t kColumnsUnknown = 80;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kColumnsUnknown;
}

std::size_t label_width(std::span<const Tenant> tenants) {
  std::size_t width = 0;
  for (const Tenant& tenant : tenants) width = std::max(width, tenant.spec.label.size());
  return width;
}

}  // namespace

LiveView::LiveView(ProgressMode mode) : mode_(mode) {
  if (mode_ == ProgressMode::kAuto) {
    mode_ = ::isatty(STDOUT_FILENO) == 1 ? ProgressMode::kBar : ProgressMode::kLines;
  }
}

void LiveView::update(std::span<const Tenant> tenants, std::span<const std::string> gpus) {
  if (mode_ == ProgressMode::kBar) draw_block(tenants, gpus);
  if (mode_ == ProgressMode::kLines) print_lines(tenants, gpus);
}

void LiveView::draw_block(std::span<const Tenant> tenants, std::span<const std::string> gpus) {
  // A line that wraps would be two lines on the screen, and the next block would be drawn too low.
  const std::size_t columns = terminal_columns() - 1;
  const std::size_t width = label_width(tenants);
  std::string text;
  if (lines_drawn_ != 0) text += fmt::format("\033[{}A", lines_drawn_);
  for (const Tenant& tenant : tenants) {
    text += fmt::format("\r{}\033[K\n", render_tenant(tenant, width).substr(0, columns));
  }
  for (const std::string& gpu : gpus) {
    text += fmt::format("\r{}\033[K\n", gpu.substr(0, columns));
  }
  lines_drawn_ = tenants.size() + gpus.size();
  fmt::print("{}", text);
  std::fflush(stdout);
}

void LiveView::print_lines(std::span<const Tenant> tenants, std::span<const std::string> gpus) {
  const Clock::time_point now = Clock::now();
  if (due_.empty()) {
    due_.assign(tenants.size(), now + kLineInterval);
    gpus_due_ = now + kLineInterval;
  }
  const std::size_t width = label_width(tenants);
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const bool ended = tenants[i].phase == Phase::kEnded;
    if (due_[i] == Clock::time_point::max() || (!ended && now < due_[i])) continue;
    due_[i] = ended ? Clock::time_point::max() : now + kLineInterval;
    fmt::print("{}\n", render_tenant(tenants[i], width));
  }
  if (now >= gpus_due_) {
    gpus_due_ = now + kLineInterval;
    for (const std::string& gpu : gpus) fmt::print("{}\n", gpu);
  }
  std::fflush(stdout);
}

void LiveView::clear() {
  if (lines_drawn_ != 0) fmt::print("\033[{}A\r\033[J", lines_drawn_);
  lines_drawn_ = 0;
  std::fflush(stdout);
}

}  // namespace nvs::workloads
