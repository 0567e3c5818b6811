// SPDX-License-Identifier: Apache-2.0
#include "workloads/statistics.h"

#include <algorithm>
#include <numeric>

namespace nvs::workloads {

Summary summarize(std::span<const double> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.min = *min, .max = *max, .average = sum / static_cast<double>(values.size())};
}

double per_second(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

}  // namespace nvs::workloads
