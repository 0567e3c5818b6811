// SPDX-License-Identifier: Apache-2.0
// Quota: the books of GPU time billed to a tenant on a GPU, and how much it may still have. No caps
// can be set yet, so a wish is granted in full; who opens a window asks here all the same.
#pragma once

#include "base/instant.h"

namespace nvs::core {

class Bill {
 public:
  void add(Duration span) { used_ += span; }
  Duration used() const { return used_; }
  // How much of a window of this length the tenant may have.
  Duration allowed(Duration wish) const { return wish; }

 private:
  Duration used_;
};

}  // namespace nvs::core
