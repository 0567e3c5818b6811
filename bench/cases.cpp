// SPDX-License-Identifier: Apache-2.0
#include "bench/case.h"
#include "bench/cases/driver_case.h"
#include "bench/cases/fits_case.h"
#include "bench/cases/idle_case.h"
#include "bench/cases/latency_case.h"
#include "bench/cases/overhead_case.h"
#include "bench/cases/oversub_case.h"
#include "bench/cases/pair_case.h"
#include "bench/cases/quota_case.h"
#include "bench/cases/recover_case.h"
#include "bench/cases/scale_case.h"
#include "bench/cases/seeds_case.h"
#include "bench/cases/streams_case.h"
#include "bench/cases/swap_case.h"

namespace nvs::bench {

const std::vector<const Case*>& all_cases() {
  static const DriverCase driver;
  static const OverheadCase overhead;
  static const OverheadPythonCase overhead_python;
  static const PairCase pair;
  static const PairPythonCase pair_python;
  static const LatencyCase latency;
  static const IdleCase idle;
  static const StreamsCase streams;
  static const RecoverCase recover;
  static const FitsCase fits;
  static const OversubCase oversub;
  static const SwapCase swap;
  static const QuotaCase quota;
  static const QuotaHighCase quota_high;
  static const QuotaAloneCase quota_alone;
  static const QuotaShapesCase quota_shapes;
  static const QuotaPythonCase quota_python;
  static const SeedsCase seeds;
  static const ScaleCase scale;
  static const std::vector<const Case*> cases = {
      &driver,       &overhead,     &overhead_python, &pair,       &pair_python,
      &latency,      &idle,         &streams,         &recover,    &fits,
      &oversub,      &swap,         &quota,           &quota_high, &quota_alone,
      &quota_shapes, &quota_python, &seeds,           &scale};
  return cases;
}

const Case* find_case(const std::string& name) {
  for (const Case* item : all_cases()) {
    if (item->name() == name) return item;
  }
  return nullptr;
}

std::vector<CaseName> case_names() {
  std::vector<CaseName> names;
  for (const Case* item : all_cases()) names.push_back({item->name(), item->summary()});
  return names;
}

}  // namespace nvs::bench
