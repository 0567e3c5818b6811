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

}  // namespace nvs::sim
