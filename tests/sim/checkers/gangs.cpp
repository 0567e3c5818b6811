// SPDX-License-Identifier: Apache-2.0
// A tenant that has wanted several GPUs for a while gets them in one step or not at all.
#include <algorithm>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// A GPU that it began to want while the others were already on their way to it comes later. The
// way takes as long as the slowest drain, and this.
constexpr Duration kOnTheWay = core::kSilenceMax + Duration::from_ms(100);

class Gangs : public Checker {
 public:
  Gangs() : Checker("gangs") {}

  void on_event(const Ledger&, const core::Event&) override {
    opened_.clear();
    waited_.clear();
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    const LedgerClient* client = open != nullptr ? ledger.client(open->client) : nullptr;
    if (client == nullptr || !ledger.knows(open->gpu)) return;
    const auto& mode = ledger.gpu(open->gpu).policy.mode;
    if (mode == core::Mode::automatic && !ledger.holds(client->tenant, open->gpu)) {
      if (opened_.empty()) note_waits(ledger);
      opened_.push_back(client->tenant);
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (const core::TenantId tenant : opened_) {
      for (const Waited& other : waited_) {
        const core::GpuId id{other.gpu};
        if (other.tenant == tenant && other.span > way(ledger) &&
            ledger.gpu(id).policy.mode == core::Mode::automatic && !ledger.holds(tenant, id) &&
            ledger.standing(tenant, id).waits_since) {
          complain(text(tenant) + " got some of its GPUs, but not " + text(id) +
                   ", for which it has waited " + text(other.span));
        }
      }
    }
  }

 private:
  struct Waited {
    core::TenantId tenant;
    std::uint32_t gpu;
    Duration span;
  };

  void note_waits(const Ledger& ledger) {
    if (ledger.gpus().size() < 2) return;
    for (std::uint32_t gpu = 0; gpu < ledger.gpus().size(); ++gpu) {
      for (const core::TenantId tenant : ledger.gpus()[gpu].waiting) {
        const Instant since = *ledger.standing(tenant, core::GpuId{gpu}).waits_since;
        waited_.push_back({tenant, gpu, ledger.now() - since});
      }
    }
  }

  static Duration way(const Ledger& ledger) {
    Duration slowest;
    for (const LedgerGpu& gpu : ledger.gpus()) slowest = std::max(slowest, gpu.longest_drain);
    return slowest + kOnTheWay + ledger.excused();
  }

  std::vector<core::TenantId> opened_;
  std::vector<Waited> waited_;  // when the first window of the step opened
};

}  // namespace

std::unique_ptr<Checker> make_gangs() { return std::make_unique<Gangs>(); }

}  // namespace nvs::sim
