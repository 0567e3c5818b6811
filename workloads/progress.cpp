// SPDX-License-Identifier: Apache-2.0
#include "workloads/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace nvs::workloads {
namespace {

constexpr unsigned kBarWidth = 30;
constexpr double kBarInterval = 0.1;
constexpr double kLineInterval = 2.0;

}  // namespace

std::string render_bar(double fraction, unsigned width) {
  const double filled = std::floor(std::clamp(fraction, 0.0, 1.0) * width);
  const auto count = static_cast<std::size_t>(filled);
  return '[' + std::string(count, '#') + std::string(width - count, '.') + ']';
}

std::string render_progress(const Progress& progress, unsigned bar_width) {
  const std::string count = progress.total == 0
                                ? fmt::format("{}", progress.done)
                                : fmt::format("{}/{}", progress.done, progress.total);
  const double percent = std::floor(std::clamp(progress.fraction, 0.0, 1.0) * 100);
  return fmt::format("{} {:3.0f} %  {}  {:.1f} it/s  {:.1f} s",
                     render_bar(progress.fraction, bar_width), percent, count, progress.rate,
                     progress.seconds);
}

ProgressMode progress_mode(std::string_view name) {
  if (name == "bar") return ProgressMode::kBar;
  if (name == "lines") return ProgressMode::kLines;
  return name == "none" ? ProgressMode::kNone : ProgressMode::kAuto;
}

ProgressPrinter::ProgressPrinter(ProgressMode mode, std::string label)
    : mode_(mode), label_(std::move(label)) {
  if (mode_ == ProgressMode::kAuto) {
    mode_ = ::isatty(STDOUT_FILENO) == 1 ? ProgressMode::kBar : ProgressMode::kLines;
  }
  if (mode_ == ProgressMode::kLines) next_seconds_ = kLineInterval;
}

void ProgressPrinter::update(const Progress& progress) {
  if (mode_ == ProgressMode::kNone || progress.seconds < next_seconds_) return;
  const std::string text = fmt::format("{}  {}", label_, render_progress(progress, kBarWidth));
  if (mode_ == ProgressMode::kBar) {
    next_seconds_ = progress.seconds + kBarInterval;
    // The escape erases what a longer text left behind.
    fmt::print("\r{}\033[K", text);
    bar_shown_ = true;
  } else {
    next_seconds_ = progress.seconds + kLineInterval;
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

void ProgressPrinter::clear() {
  if (!bar_shown_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  bar_shown_ = false;
}

}  // namespace nvs::workloads
