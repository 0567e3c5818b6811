// SPDX-License-Identifier: Apache-2.0
#include "interposer/exports/rows.h"

#include "interposer/plain_string.h"

namespace nvs::interposer {
namespace {

// Names start with "cu" or "nvml", so the two parts of the table are one sorted list.
constexpr bool is_sorted() {
  for (std::size_t i = 1; i < kRowCount; ++i) {
    if (compare(kRows[i - 1].name, kRows[i].name) >= 0) return false;
  }
  return true;
}
static_assert(is_sorted(), "spec/hooks.def must be sorted by symbol");

}  // namespace

std::size_t find_exported(const char* name) {
  std::size_t first = 0;
  std::size_t last = kRowCount;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    const int order = compare(kRows[middle].name, name);
    if (order == 0) return is_exported(kRows[middle]) ? middle : kRowCount;
    if (order < 0) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return kRowCount;
}

}  // namespace nvs::interposer
