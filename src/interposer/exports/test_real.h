// SPDX-License-Identifier: Apache-2.0
// Lets a unit test stand in for the driver.
#pragma once

#include "interposer/exports/real.h"

namespace nvs::interposer {

template <Row row>
void set_real_for_test(typename RowFunction<row>::Type* function) {
  nvs_real[index_of(row)].store(reinterpret_cast<void*>(function), std::memory_order_relaxed);
}

}  // namespace nvs::interposer
