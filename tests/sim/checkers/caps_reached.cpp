// SPDX-License-Identifier: Apache-2.0
// In a quiet run, where all tenants always have work, each gets what its cap gives it, no less and
// no more; beside others without a cap it gets that or its share by weight. As long as caps add up
// to the whole GPU, or somebody has none, the GPU is never free.
#include <algorithm>
#include <map>
#include <vector>

#include "tests/sim/checkers/cap_slack.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// Everybody is there by then.
constexpr Duration kBegin = Duration::from_s(1);

class CapsReached : public Checker {
 public:
  explicit CapsReached(RunTraits traits) : Checker("caps_reached"), traits_(traits) {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    if (!traits_.quiet || !traits_.capped) return;
    if (std::holds_alternative<core::GpuAdded>(event)) return;
    if (const auto* set = std::get_if<core::CapSet>(&event)) ++changes_[set->tenant];
    if (!first_) first_ = ledger.now();
    if (began_ || ledger.now() - *first_ < kBegin) return;
    began_ = ledger.now();
    for (std::uint32_t gpu = 0; gpu < ledger.gpus().size(); ++gpu) {
      at_first_.push_back(all_of(ledger, core::GpuId{gpu}));
    }
  }

  void on_last_look(const Ledger& ledger, const core::NodeView&) override {
    if (!began_) return;
    for (std::uint32_t gpu = 0; gpu < ledger.gpus().size(); ++gpu) {
      judge(ledger, core::GpuId{gpu});
    }
  }

 private:
  struct Had {
    double used = 0;
    double earned = 0;
    bool capped = false;
    std::int64_t weight = 0;
  };
  using All = std::map<core::TenantId, Had>;

  static All all_of(const Ledger& ledger, core::GpuId id) {
    All all;
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      const auto used = static_cast<double>(ledger.used(tenant, id).least.ns());
      if (!ledger.tenant(tenant).here || used == 0) continue;
      all[tenant] = {used, ledger.quota().scaled(tenant, id).most,
                     ledger.quota().has_account(tenant, id), ledger.tenant(tenant).weight};
    }
    return all;
  }

  void judge(const Ledger& ledger, core::GpuId id) {
    const auto span = static_cast<double>((ledger.now() - *began_).ns());
    const All first = at_first_[core::index_of(id)];
    const All all = all_of(ledger, id);
    std::int64_t weights = 0;
    double used = 0, wanted = 0, slack = 0;
    bool all_capped = true;
    const int changes = changes_on(all);
    for (const auto& [tenant, had] : all) {
      const auto before = first.find(tenant);
      // Somebody had no cap for a while.
      if (before == first.end() || before->second.capped != had.capped) return;
      weights += had.weight;
      used += had.used - before->second.used;
      wanted += had.earned - before->second.earned;
      all_capped = all_capped && had.capped;
      slack = std::max(slack, slack_of(ledger, tenant, id, changes));
    }
    if (all.empty()) return;
    if (!all_capped) wanted = span;
    if (used < wanted * 0.995 - slack) {
      complain(text(id) + " was used for " + ms(used) + " of " + ms(wanted));
    }
    for (const auto& [tenant, had] : all) {
      if (!had.capped) continue;
      const Had& before = first.at(tenant);
      const double got = had.used - before.used;
      const double most = had.earned - before.earned;
      const double fair = span * static_cast<double>(had.weight) / static_cast<double>(weights);
      // Beside others that is known as long as no cap changes.
      const double beside = changes > 0 ? 0 : std::min(most, fair) * 0.97;
      const double least = all_capped ? most * 0.998 : beside;
      const double off = slack_of(ledger, tenant, id, changes);
      if (got >= least - off && got <= most * 1.002 + off) continue;
      complain(text(tenant) + " had " + ms(got) + " of " + text(id) + "; its cap gave it " +
               ms(most) + ", within " + ms(off));
    }
  }

  int changes_on(const All& all) const {
    int count = 0;
    for (const auto& [tenant, times] : changes_) count += all.contains(tenant) ? times : 0;
    return count;
  }

  // A change cuts off what everybody there has saved.
  static double slack_of(const Ledger& ledger, core::TenantId tenant, core::GpuId id, int changes) {
    return cap_slack_ns(ledger, tenant, id) * (changes + 1);
  }

  static std::string ms(double ns) { return std::to_string(ns / 1e6) + " ms"; }

  RunTraits traits_;
  std::optional<Instant> first_, began_;
  std::vector<All> at_first_;  // by GPU
  std::map<core::TenantId, int> changes_;
};

}  // namespace

std::unique_ptr<Checker> make_caps_reached(RunTraits traits) {
  return std::make_unique<CapsReached>(traits);
}

}  // namespace nvs::sim
