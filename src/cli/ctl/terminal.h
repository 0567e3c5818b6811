// SPDX-License-Identifier: Apache-2.0
// The terminal as `top` uses it: a second screen, keys as they are pressed, and everything as it
// was when the object goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <termios.h>

#include "cli/ctl/top_view.h"
#include "cli/early_exit.h"

namespace nvs::cli {

class Terminal {
 public:
  // Changes nothing yet. Fails where input or output is no terminal.
  static Outcome<std::unique_ptr<Terminal>> open();
  ~Terminal() { leave(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // May be left for a while, as for a stop by Ctrl-Z, and entered again.
  void enter();
  void leave();

  ScreenSize size() const;
  // False if the terminal is gone.
  bool draw(const std::vector<ViewLine>& lines) const;
  bool read(std::string& bytes) const;

 private:
  explicit Terminal(const termios& before) : before_(before) {}

  termios before_;
  bool entered_ = false;
};

}  // namespace nvs::cli
