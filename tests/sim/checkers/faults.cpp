// SPDX-License-Identifier: Apache-2.0
// Whoever has lost its contexts is never allowed more: it has no use for it, and others do. What it
// keeps is theirs again when it ends, which is what leaves and memory_service are about.
#include <map>
#include <utility>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class Faults : public Checker {
 public:
  Faults() : Checker("faults") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    const auto* held = std::get_if<core::MemoryHeld>(&event);
    if (const auto* left = std::get_if<core::ClientLeft>(&event)) {
      std::erase_if(allowed_, [&](const auto& one) { return one.first.first == left->client; });
    }
    const Slot* slot = held != nullptr ? ledger.slot(held->client, held->gpu) : nullptr;
    if (slot == nullptr) return;
    const std::pair key(held->client, held->gpu);
    if (!held->is_faulted) {
      allowed_.erase(key);
    } else {
      allowed_.try_emplace(key, slot->memory.allowed());
    }
  }

  void on_effect(const Ledger&, const core::Effect& effect) override {
    const auto* allow = std::get_if<core::SetAllowance>(&effect);
    if (allow == nullptr) return;
    const auto faulted = allowed_.find({allow->client, allow->gpu});
    if (faulted == allowed_.end()) return;
    if (allow->bytes > faulted->second) {
      complain(text(allow->client) + " has lost its contexts on " + text(allow->gpu) +
               " and may have " + std::to_string(allow->bytes) + " bytes, more than before");
    }
    faulted->second = allow->bytes;
  }

 private:
  std::map<std::pair<core::ClientId, core::GpuId>, std::uint64_t> allowed_;
};

}  // namespace

std::unique_ptr<Checker> make_faults() { return std::make_unique<Faults>(); }

}  // namespace nvs::sim
