// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next attempt: longer each time, and never the same on two nodes,
// because all of them lose the API server at the same moment.
#pragma once

#include "base/instant.h"

namespace nvs::kube {

class Backoff {
 public:
  Backoff(Duration first, Duration most) : first_(first), most_(most), span_(first) {}

  // One to two times the span; `chance` is from 0 to 1.
  Duration next(double chance);
  void reset() { span_ = first_; }

 private:
  Duration first_;
  Duration most_;
  Duration span_;
};

// A duration between the two.
Duration between(Duration least, Duration most, double chance);

}  // namespace nvs::kube
