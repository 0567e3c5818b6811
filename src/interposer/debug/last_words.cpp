// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/last_words.h"

#include "interposer/debug/log.h"
#include "interposer/memory/books.h"
#include "interposer/memory/report.h"

namespace nvs::interposer::debug {

void say_last_words() {
  memory::report_all();
  const memory::Counts totals = memory::books().totals();
  finish(totals.bytes_peak, totals.allocations);
}

}  // namespace nvs::interposer::debug
