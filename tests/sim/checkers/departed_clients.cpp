// SPDX-License-Identifier: Apache-2.0
// No effect goes to a client that left, or that never came, or to a GPU that is not there.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class DepartedClients : public Checker {
 public:
  DepartedClients() : Checker("departed_clients") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    std::visit(
        [&](const auto& item) {
          const LedgerClient* client = ledger.client(item.client);
          if (client == nullptr) {
            complain("effect for " + text(item.client) + ", which never joined");
          } else if (!client->here) {
            complain("effect for " + text(item.client) + ", which left");
          } else if (!ledger.knows(item.gpu)) {
            complain("effect for " + text(item.gpu) + ", which was never added");
          }
        },
        effect);
  }
};

}  // namespace

std::unique_ptr<Checker> make_departed_clients() { return std::make_unique<DepartedClients>(); }

}  // namespace nvs::sim
