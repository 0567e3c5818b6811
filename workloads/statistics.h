// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum and average of a column of the result table.
#pragma once

#include <span>

namespace nvs::workloads {

struct Summary {
  double min = 0;
  double max = 0;
  double average = 0;
};

// All zero for no values.
Summary summarize(std::span<const double> values);

// A rate; zero where no time has passed yet.
double per_second(double count, double seconds);

}  // namespace nvs::workloads
