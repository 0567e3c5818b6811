// SPDX-License-Identifier: Apache-2.0
#include "bench/stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/failure.h"

namespace nvs::bench {

Summary summarize(std::vector<double> values) {
  if (values.empty()) throw Failure("no repetition of the measurement succeeded");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double center =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {center, values.front(), values.back()};
}

double median(std::vector<double> values) { return summarize(std::move(values)).median; }

double percentile(std::vector<double> values, double fraction) {
  if (values.empty()) throw Failure("no sample to take a percentile of");
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::min(index, values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void CompletionWindow::completed(std::int64_t at_ns) {
  if (at_ns < from_ns_ || at_ns > to_ns_) return;
  if (count_ == 0) first_ns_ = at_ns;
  last_ns_ = at_ns;
  ++count_;
}

double CompletionWindow::rate() const {
  if (count_ < 2 || last_ns_ <= first_ns_) return 0;
  return static_cast<double>(count_ - 1) * 1e9 / static_cast<double>(last_ns_ - first_ns_);
}

}  // namespace nvs::bench
