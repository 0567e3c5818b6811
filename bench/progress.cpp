// SPDX-License-Identifier: Apache-2.0
#include "bench/progress.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace nvs::bench {
namespace {

constexpr int kBarWidth = 20;
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

Progress* Progress::running = nullptr;

Progress::Pause::Pause() {
  if (running != nullptr) running->show(kEraseLine);
}

Progress::Pause::~Pause() {
  if (running != nullptr) running->show(running->line_);
}

Progress::Progress(std::string title, int steps, std::FILE* out)
    : title_(std::move(title)),
      steps_(steps),
      out_(out),
      terminal_(::isatty(::fileno(out)) == 1),
      start_(std::chrono::steady_clock::now()) {
  running = this;
}

Progress::~Progress() {
  show(kEraseLine);
  running = nullptr;
}

void Progress::step(const std::string& what) {
  if (done_ < steps_) ++done_;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(kBarWidth * (done_ - 1) / steps_);
    line_ = fmt::format("{} [{:<{}}] {:.0f} s  {}", title_, std::string(filled, '#'), kBarWidth,
                        elapsed.count(), what);
    show(kEraseLine + line_);
  } else {
    fmt::print(out_, "{} [{}/{}] {:.0f} s  {}\n", title_, done_, steps_, elapsed.count(), what);
    std::fflush(out_);
  }
}

void Progress::note(const std::string& text) {
  const Pause pause;
  fmt::print(out_, "{}: {}\n", title_, text);
}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  fmt::print(out_, "{}", text);
  std::fflush(out_);
}

}  // namespace nvs::bench
