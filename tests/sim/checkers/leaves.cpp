// SPDX-License-Identifier: Apache-2.0
// When all fit (somebody has left, or freed memory), everybody is allowed all that it has and asks
// for in the same step, as far as the room is free for certain; and where it is not, because it was
// given away to allocate without asking, it is being taken back. So all come back without a further
// event but what clients answer.
#include <algorithm>

#include "core/allowances.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class Leaves : public Checker {
 public:
  Leaves() : Checker("leaves") {}

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      if (!ledger.gpus()[index].memory.empty()) judge(ledger, core::GpuId{index});
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (!gpu.fits() || ledger.is_hampered(id)) return;
    if (ledger.is_short(id)) return;
    std::uint64_t missing = 0;
    bool taken_back = false;
    bool waits = false;
    std::optional<core::ClientId> who;
    for (const core::ClientId client : gpu.memory) {
      const SlotMemory& memory = ledger.slot(client, id)->memory;
      taken_back = taken_back || memory.committed() > memory.allowed();
      // Where so many are under way the core waits for answers before it counts on room.
      waits = waits || memory.allowances.size() >= core::kAllowancesOpenMax;
      if (memory.need() <= memory.allowed()) continue;
      who = client;
      missing += memory.need() - std::min(memory.need(), memory.committed());
    }
    if (!who) return;
    const std::uint64_t committed = ledger.committed(id);
    const std::uint64_t room = gpu.capacity - std::min(gpu.capacity, committed);
    if (waits || (missing > room && taken_back)) return;
    complain(text(*who) + " lacks memory on " + text(id) +
             " where all fit: " + std::to_string(missing) + " bytes are missing, " +
             std::to_string(room) + " are free, and nothing is being taken back");
  }
};

}  // namespace

std::unique_ptr<Checker> make_leaves() { return std::make_unique<Leaves>(); }

}  // namespace nvs::sim
