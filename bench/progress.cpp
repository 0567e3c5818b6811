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

Progress::Progress(std::string title, int steps)
    : title_(std::move(title)),
      steps_(steps),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { erase(); }

void Progress::step(const std::string& what) {
  if (done_ < steps_) ++done_;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(kBarWidth * (done_ - 1) / steps_);
    fmt::print(stderr, "{}{} [{:<{}}] {:.0f} s  {}", kEraseLine, title_, std::string(filled, '#'),
               kBarWidth, elapsed.count(), what);
  } else {
    fmt::print(stderr, "{} [{}/{}] {:.0f} s  {}\n", title_, done_, steps_, elapsed.count(), what);
  }
  std::fflush(stderr);
}

void Progress::note(const std::string& text) {
  erase();
  fmt::print(stderr, "{}: {}\n", title_, text);
}

void Progress::erase() {
  if (terminal_) fmt::print(stderr, "{}", kEraseLine);
}

}  // namespace nvs::bench
