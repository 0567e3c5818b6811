// SPDX-License-Identifier: Apache-2.0
// Says on stderr what is being measured while it is: one line that renews itself on a terminal, one
// line a step elsewhere (a log). stdout stays for results.
#pragma once

#include <chrono>
#include <string>

namespace nvs::bench {

class Progress {
 public:
  // `steps` is how many times `step` will be called.
  Progress(std::string title, int steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const std::string& what);
  // A remark that stays on the screen.
  void note(const std::string& text);

 private:
  void erase();

  std::string title_;
  int steps_;
  int done_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nvs::bench
