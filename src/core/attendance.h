// SPDX-License-Identifier: Apache-2.0
// Whether a tenant is about all the time, holding the GPU or waiting for it, or sleeps in between.
// Time present is saved up and time away spent, many times as fast.
#pragma once

#include <algorithm>

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::core {

class Attendance {
 public:
  // It was present until now, or away, since the last call.
  void add(Instant now, bool present) {
    const Duration span = std::min(now - known_, kSteadySpan);
    saved_ += present ? span : span * -(kSteadyParts - 1);
    saved_ = std::clamp(saved_, Duration{}, kSteadySpan);
    known_ = now;
  }
  bool is_steady() const { return saved_ >= kSteadySpan / 2; }

 private:
  Duration saved_;
  Instant known_;
};

}  // namespace nvs::core
