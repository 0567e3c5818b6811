// SPDX-License-Identifier: Apache-2.0
// A window is opened for a client whose gate is closed, with a grant that was never used; what
// follows names that grant; nothing is said twice.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class FreshGrants : public Checker {
 public:
  FreshGrants() : Checker("fresh_grants") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    std::visit(
        [&](const auto& item) {
          if (const Slot* slot = ledger.slot(item.client, item.gpu)) judge(*slot, item);
        },
        effect);
  }

 private:
  void judge(const Slot& slot, const core::GetReady& item) {
    const bool comes_back = slot.gate == Slot::Gate::closing;
    if (!comes_back && (slot.gate != Slot::Gate::closed || !slot.wants)) {
      complain("GetReady for " + text(item.client) + " on " + text(item.gpu) +
               ", which does not wait");
    }
  }
  void judge(const Slot&, const core::SetAllowance&) {}
  static std::string where(const auto& item) {
    return text(item.client) + " on " + text(item.gpu) + " with " + text(item.grant);
  }

  // Grants are numbers that grow, so the newest one tells whether a number was used.
  void take_fresh(const auto& item, const char* what) {
    const auto number = static_cast<std::uint64_t>(item.grant);
    if (number <= newest_) complain(std::string(what) + " for " + where(item) + ": a used grant");
    newest_ = number > newest_ ? number : newest_;
  }

  void judge(const Slot& slot, const core::OpenWindow& item) {
    if (slot.gate == Slot::Gate::closing) {
      complain("OpenWindow for " + where(item) + ": it has not answered CloseWindow yet");
    } else if (slot.gate == Slot::Gate::open && !slot.found) {
      complain("OpenWindow for " + where(item) + ": its window is open");
    }
    take_fresh(item, "OpenWindow");
  }
  void judge(const Slot& slot, const core::ChangeTerms& item) {
    if (slot.gate != Slot::Gate::open || slot.grant != item.grant) {
      complain("ChangeTerms for " + where(item) + ": it has no such open window");
    } else if (slot.terms == item.terms) {
      complain("ChangeTerms for " + where(item) + ": these are its terms already");
    }
  }
  void judge(const Slot& slot, const core::CloseWindow& item) {
    if (slot.gate != Slot::Gate::open) {
      complain("CloseWindow for " + where(item) + ": its window is not open");
    } else if (slot.grant != item.grant) {
      // A window from before the daemon started has no grant, and one that could not be drained
      // may get a new one.
      if (!slot.found && !slot.loose) complain("CloseWindow for " + where(item) + ": stale grant");
      take_fresh(item, "CloseWindow");
    }
  }
  void judge(const Slot& slot, const core::LetOneIn& item) {
    if (slot.gate == Slot::Gate::open) {
      complain("LetOneIn for " + where(item) + ": its gate is open");
    } else if (slot.gate == Slot::Gate::closing) {
      if (slot.grant != item.grant) complain("LetOneIn for " + where(item) + ": stale grant");
    } else {
      take_fresh(item, "LetOneIn");
    }
  }

  std::uint64_t newest_ = 0;
};

}  // namespace

std::unique_ptr<Checker> make_fresh_grants() { return std::make_unique<FreshGrants>(); }

}  // namespace nvs::sim
