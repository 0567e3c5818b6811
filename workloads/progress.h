// SPDX-License-Identifier: Apache-2.0
// How far a workload has come, as text: the bar that a terminal shows, and the rate-limited printer
// that decides between a bar, plain lines and silence. Rendering is pure; only the printer writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nvs::workloads {

struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // zero where time and not a number of iterations ends the run
  double fraction = 0;
  double seconds = 0;
  double rate = 0;  // iterations a second since the start
};

// "[####......]", `width` characters between the brackets.
std::string render_bar(double fraction, unsigned width);

// "[####......]  40 %  120/300  19.9 it/s  6.0 s"
std::string render_progress(const Progress& progress, unsigned bar_width);

enum class ProgressMode { kAuto, kBar, kLines, kNone };

// The mode that options call "bar", "lines" or "none"; anything else is kAuto.
ProgressMode progress_mode(std::string_view name);

// Writes to stdout: a bar that is redrawn in place, or a line every few seconds.
class ProgressPrinter {
 public:
  // kAuto is a bar on a terminal and lines elsewhere.
  ProgressPrinter(ProgressMode mode, std::string label);

  // Cheap when called often: it writes only when it is time to.
  void update(const Progress& progress);
  // Removes the bar, so that what is printed next stands at the start of an empty line.
  void clear();

 private:
  ProgressMode mode_;
  std::string label_;
  double next_seconds_ = 0;
  bool bar_shown_ = false;
};

}  // namespace nvs::workloads
