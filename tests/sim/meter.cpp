// SPDX-License-Identifier: Apache-2.0
#include "meter.h"

namespace nvs::sim {
namespace {

class Observer : public Checker {
 public:
  Observer(Meter& meter, const std::vector<std::uint32_t>& numbers)
      : Checker("meter"), meter_(meter), numbers_(numbers) {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    const LedgerClient* client = open != nullptr ? ledger.client(open->client) : nullptr;
    if (client == nullptr || !ledger.knows(open->gpu)) return;
    const Standing& standing = ledger.standing(client->tenant, open->gpu);
    if (!standing.waits_since) return;
    const std::uint32_t number = numbers_[static_cast<std::size_t>(client->tenant)];
    meter_.gpus()[core::index_of(open->gpu)].tenants[number].waits.push_back(ledger.now() -
                                                                             *standing.waits_since);
  }

 private:
  Meter& meter_;
  const std::vector<std::uint32_t>& numbers_;
};

}  // namespace

void Meter::add(const core::NodeView& view) {
  for (const core::GpuView& gpu : view.gpus) {
    GpuMeter& sum = gpus_[core::index_of(gpu.gpu)];
    sum.switches += gpu.switches;
    sum.handover += gpu.handover;
    sum.turns += gpu.turns;
  }
}

std::unique_ptr<Checker> Meter::make_observer(const std::vector<std::uint32_t>& numbers) {
  return std::make_unique<Observer>(*this, numbers);
}

}  // namespace nvs::sim
