// SPDX-License-Identifier: Apache-2.0
// The little statistics that all cases share: figures are medians of repetitions, latencies are
// percentiles.
#pragma once

#include <cstdint>
#include <vector>

namespace nvs::bench {

// The smallest, the median and the largest of some repetitions of one measurement.
struct Summary {
  double median = 0;
  double low = 0;
  double high = 0;
};

// `values` must not be empty. The median of an even number of values is the mean of the middle two.
Summary summarize(std::vector<double> values);
double median(std::vector<double> values);

// The value that `fraction` (0 to 1) of all values do not exceed (nearest rank).
double percentile(std::vector<double> values, double fraction);

// Counts things that complete one after the other, and only those between two instants. The rate is
// taken between the first and the last completion inside, so that work cut by either edge neither
// counts nor dilutes.
class CompletionWindow {
 public:
  CompletionWindow(std::int64_t from_ns, std::int64_t to_ns) : from_ns_(from_ns), to_ns_(to_ns) {}

  void completed(std::int64_t at_ns);
  std::uint64_t count() const { return count_; }
  // Completions a second; 0 where fewer than two fell inside.
  double rate() const;

 private:
  std::int64_t from_ns_;
  std::int64_t to_ns_;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace nvs::bench
