// SPDX-License-Identifier: Apache-2.0
// Pages that run out when a test wants them to.
#pragma once

#include <cstddef>

#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

struct TestPages {
  static inline int calls_left = 0;
  static void* map(std::size_t bytes) {
    if (calls_left == 0) return nullptr;
    --calls_left;
    return os::map_pages(bytes);
  }
};

}  // namespace nvs::interposer::vmm
