// SPDX-License-Identifier: Apache-2.0
// Worlds of a few lines, each made to show one decision of the core in a trace that people can
// read.
#pragma once

#include <string>
#include <vector>

#include "plan.h"

namespace nvs::sim {

struct Scenario {
  std::string name;
  Plan plan;
};

std::vector<Scenario> make_scenarios();
// Of tenants with caps.
std::vector<Scenario> make_capped_scenarios();
// Four tenants on two GPUs, whose caps change so often and so far apart; then they are 30 and 60
// percent for a while.
Plan make_changes(int count, Duration apart);
inline constexpr Duration kUnchanged = Duration::from_s(20);

}  // namespace nvs::sim
