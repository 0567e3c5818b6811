// SPDX-License-Identifier: Apache-2.0
// No allowance is raised beyond what is free for certain: what clients have, or may take because of
// any allowance that they may still go by, and what cannot be moved, is never more than the
// capacity because of it. Clients may hold more by themselves; then nothing is raised.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class MemoryCapacity : public Checker {
 public:
  MemoryCapacity() : Checker("memory_capacity") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* allow = std::get_if<core::SetAllowance>(&effect);
    const Slot* slot = allow != nullptr ? ledger.slot(allow->client, allow->gpu) : nullptr;
    if (slot == nullptr) return;
    const SlotMemory& memory = slot->memory;
    if (!memory.told) complain(text(allow->client) + " is told about memory and never was asked");
    if (!memory.allowances.empty() && allow->number <= memory.allowances.back().first) {
      complain("allowances of " + text(allow->client) + " do not grow in number");
    }
    const std::uint64_t before = memory.committed();
    if (allow->bytes <= before) return;
    const std::uint64_t sum = ledger.committed(allow->gpu) + (allow->bytes - before);
    if (sum > ledger.gpu(allow->gpu).capacity) {
      complain(text(allow->client) + " may have " + std::to_string(allow->bytes) + " bytes of " +
               text(allow->gpu) + ", and all together " + std::to_string(sum));
    }
  }
};

}  // namespace

std::unique_ptr<Checker> make_memory_capacity() { return std::make_unique<MemoryCapacity>(); }

}  // namespace nvs::sim
