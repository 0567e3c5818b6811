// SPDX-License-Identifier: Apache-2.0
// Says on stderr what is being measured while it is: one line that renews itself on a terminal, one
// line a step elsewhere (a log). stdout stays for results.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace nvs::bench {

class Progress {
 public:
  // The line of the progress that runs is away for as long as one of these lives, so that other
  // lines can be printed on the same terminal. Results come through here, and so do notes.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };

  // `steps` is how many times `step` will be called. One progress runs at a time.
  Progress(std::string title, int steps, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const std::string& what);
  // A remark that stays on the screen.
  void note(const std::string& text);

 private:
  void show(const std::string& text);

  static Progress* running;

  std::string title_;
  int steps_;
  std::FILE* out_;
  int done_ = 0;
  bool terminal_;
  std::string line_;  // what stands on the terminal
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nvs::bench
