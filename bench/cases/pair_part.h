// SPDX-License-Identifier: Apache-2.0
// What the cases `pair` and `pair-python` share: when tenants count as having lost
// nothing, and as equal.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases/sharing_part.h"

namespace nvs::bench::pair_case {

// Total work of tenants under the daemon, in percent of one alone.
Target total_target(const Sharing& sharing);
// How far, in percent, a tenant may be from its equal share.
inline const Target kShareTarget = {std::nullopt, 2};

// Of these amounts, how far the one that is farthest from their mean is from it, in percent.
double farthest_from_equal(const std::vector<double>& shares);

// What each tenant got done in each round.
class Shares {
 public:
  void add_round(std::vector<double> work) { rounds_.push_back(std::move(work)); }
  std::size_t rounds() const { return rounds_.size(); }
  // From an equal share of all that was done; and where rounds make up for each other, of the round
  // in which one was farthest from it.
  double farthest_in_all() const;
  double farthest_in_one_round() const;

 private:
  std::vector<std::vector<double>> rounds_;
};

struct Run {
  std::vector<double> percent;  // of one alone, each round
  Shares shares;
  std::vector<double> switches;  // a second; empty: not counted
};
enum class Judged { nothing, total, total_and_shares };
void add_rows(Sharing& sharing, const Run& run, const std::string& who, Judged judged);

}  // namespace nvs::bench::pair_case
