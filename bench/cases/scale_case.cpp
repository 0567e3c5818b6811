// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/scale_case.h"

#include "bench/cases/scale_part.h"

namespace nvs::bench {

void ScaleCase::run(const Bench& bench) const {
  using namespace scale_case;
  Progress progress(name(), kCoreSteps + kDaemonSteps);
  measure_core(bench, progress);
  measure_daemon(bench, progress);
}

}  // namespace nvs::bench
