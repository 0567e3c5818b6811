// SPDX-License-Identifier: Apache-2.0
#include "kube/backoff.h"

#include <algorithm>

namespace nvs::kube {

Duration between(Duration least, Duration most, double chance) {
  const double extra = static_cast<double>((most - least).ns()) * std::clamp(chance, 0.0, 1.0);
  return least + Duration::from_ns(static_cast<std::int64_t>(extra));
}

Duration Backoff::next(double chance) {
  const Duration wait = between(span_, span_ * 2, chance);
  span_ = std::min(span_ * 2, most_);
  return wait;
}

}  // namespace nvs::kube
