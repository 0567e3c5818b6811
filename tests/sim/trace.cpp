// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include "core/trace_text.h"

namespace nvs::sim {
namespace {

struct Words {
  std::string operator()(const core::Event& event) const { return core::text_of(event); }
  std::string operator()(const core::Effect& effect) const {
    return "    " + core::text_of(effect);
  }
  std::string operator()(const std::string& words) const { return "# " + words; }
};

}  // namespace

std::string Trace::text_of(const Kept& one) {
  return core::text_of(one.now) + " " + std::visit(Words{}, one.item);
}

void Trace::keep(Kept one) {
  if (sink_) sink_(text_of(one));
  if (kept_.size() < kKept) {
    kept_.push_back(std::move(one));
  } else {
    kept_[next_++ % kKept] = std::move(one);
  }
}

std::vector<std::string> Trace::last_lines() const {
  std::vector<std::string> lines;
  for (std::size_t index = 0; index < kept_.size(); ++index) {
    lines.push_back(text_of(kept_[(next_ + index) % kept_.size()]));
  }
  return lines;
}

}  // namespace nvs::sim
