// SPDX-License-Identifier: Apache-2.0
// Taking times: a stopwatch in nominal seconds, and a second try for what the simulator could not
// keep up with (another program had the processors for a moment). What stays late is reported so,
// and its row is invalid.
#pragma once

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/case.h"
#include "bench/child.h"
#include "bench/machine.h"
#include "bench/progress.h"
#include "bench/row.h"

namespace nvs::bench {

class Stopwatch {
 public:
  explicit Stopwatch(const Machine& machine) : machine_(machine), start_ns_(now_ns()) {}
  double seconds() const {
    return machine_.nominal_seconds(static_cast<double>(now_ns() - start_ns_) * 1e-9);
  }

 private:
  const Machine& machine_;
  std::int64_t start_ns_;
};

template <class Result>
struct Measured {
  Result result;
  std::optional<double> overrun;
};

// Calls `measure` until the simulator was on time, a few times at most and not for too long; the
// last result counts.
template <class Measure>
auto measure_on_time(const Bench& bench, Progress& progress, const Measure& measure,
                     OverrunMeter::Against against = OverrunMeter::Against::kBusy)
    -> Measured<decltype(measure())> {
  const int attempts = bench.quick ? 2 : 3;
  for (int attempt = 1;; ++attempt) {
    const OverrunMeter meter(bench.machine, against);
    auto result = measure();
    const std::optional<double> overrun = meter.share();
    const bool too_late = now_ns() - bench.begun_ns > nanoseconds(kSecondTrySeconds);
    if (overrun.value_or(0) <= kOverrunMax || attempt == attempts || too_late) {
      return {std::move(result), overrun};
    }
    progress.note(fmt::format("the simulator was {:.1f} % late; measuring again", *overrun * 100));
  }
}

}  // namespace nvs::bench
