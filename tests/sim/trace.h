// SPDX-License-Identifier: Apache-2.0
// What happened, as lines of text: all of it for --trace and golden files, and the last lines for
// whoever has to understand why a promise was broken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"

namespace nvs::sim {

class Trace {
 public:
  // Every line goes to `sink` as it comes, if there is one.
  explicit Trace(std::function<void(const std::string&)> sink = nullptr) : sink_(std::move(sink)) {}

  void note(Instant now, const core::Event& event) { keep({now, event}); }
  void note(Instant now, const core::Effect& effect) { keep({now, effect}); }
  // Something in the world that is neither: the daemon restarts, the clock jumps.
  void note(Instant now, std::string text) { keep({now, std::move(text)}); }

  std::vector<std::string> last_lines() const;

 private:
  using Item = std::variant<core::Event, core::Effect, std::string>;
  struct Kept {
    Instant now;
    Item item;
  };
  static std::string text_of(const Kept& one);
  void keep(Kept one);

  static constexpr std::size_t kKept = 30;
  std::function<void(const std::string&)> sink_;
  std::vector<Kept> kept_;  // a ring
  std::size_t next_ = 0;
};

}  // namespace nvs::sim
