// SPDX-License-Identifier: Apache-2.0
// What the tests of the hooks share: a scripted driver, a current context, and short ways to ask
// the process's books.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "interposer/exports/own_hooks.h"
#include "interposer/exports/test_real.h"
#include "interposer/memory/books.h"
#include "interposer/memory/mock_driver.h"

namespace nvs::interposer::memory {

using Calls = std::vector<std::string>;

class HooksFixture : public testing::Test {
 protected:
  static constexpr std::uint64_t kContext = 0xc0de;

  void SetUp() override {
    install_mock_driver();
    driver_.current = handle_of<CUcontext>(kContext);
  }

  // For the tests of others, whose driver has no such calls.
  template <Row... rows>
  static void forget() {
    (set_real_for_test<rows>(nullptr), ...);
  }

  // The counts of one kind over all owners.
  static Counts counts(MemoryKind kind) {
    Counts sum;
    for (std::size_t i = 0; i <= kOwnersMax; ++i) {
      OwnerRow row;
      if (!books().row(i, row)) continue;
      const Counts& one = row.of(kind);
      sum.bytes_now += one.bytes_now;
      sum.bytes_peak += one.bytes_peak;
      sum.count_now += one.count_now;
      sum.allocations += one.allocations;
    }
    return sum;
  }
  static std::uint64_t bytes(MemoryKind kind) { return counts(kind).bytes_now; }

  // The row of a context; unused if the books have none.
  static OwnerRow row_of(std::uint64_t context) {
    for (std::size_t i = 0; i < kOwnersMax; ++i) {
      OwnerRow row;
      if (books().row(i, row) && row.value == context && row.use != RowUse::device) return row;
    }
    return {};
  }

  Calls take_calls() {
    Calls calls;
    calls.swap(driver_.calls);
    return calls;
  }

  MockDriver& driver_ = mock_driver();
};

}  // namespace nvs::interposer::memory
