// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/report.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "interposer/debug/log.h"

namespace nvs::interposer::memory {
namespace {

using Words = std::vector<std::string>;

// The words of each line after the pid.
std::vector<Words> table_of(const OwnerRow& row) {
  debug::Text<debug::kTextMax> text;
  append_table(text, row);
  EXPECT_FALSE(text.truncated());
  std::istringstream lines{std::string{text.data(), text.size()}};
  std::vector<Words> table;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    Words found;
    for (std::string word; words >> word;) found.push_back(word);
    found.erase(found.begin());
    table.push_back(found);
  }
  return table;
}

TEST(ReportTest, OneLineForEachKindThatWasUsedAndOneForAll) {
  OwnerRow row;
  row.use = RowUse::primary_context;
  row.device = 3;
  row.value = 0xabc;
  row.of(MemoryKind::plain) = {1, 2, 3, 4};
  row.of(MemoryKind::array) = {0, 6, 0, 8};
  row.all = {1, 7, 3, 12};
  EXPECT_EQ(table_of(row), (std::vector<Words>{
                               {"memory", "primary", "0xabc", "3", "plain", "1", "2", "3", "4"},
                               {"memory", "primary", "0xabc", "3", "array", "0", "6", "0", "8"},
                               {"memory", "primary", "0xabc", "3", "all", "1", "7", "3", "12"},
                           }));
}

TEST(ReportTest, OwnersThatAreNoContexts) {
  OwnerRow row;
  row.use = RowUse::device;
  row.device = 0;
  EXPECT_EQ(table_of(row).at(0), (Words{"memory", "device", "-", "0", "all", "0", "0", "0", "0"}));
  row.device = kHostDevice;
  row.value = device_owner(kHostDevice).value;
  EXPECT_EQ(table_of(row).at(0), (Words{"memory", "host", "-", "-", "all", "0", "0", "0", "0"}));
  row.use = RowUse::others;
  row.device = kUnknownDevice;
  EXPECT_EQ(table_of(row).at(0), (Words{"memory", "others", "-", "-", "all", "0", "0", "0", "0"}));
}

TEST(ReportTest, TheLargestTableFits) {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  OwnerRow row;
  row.use = RowUse::context;
  row.device = 1 << 30;
  row.value = kLargest;
  for (Counts& counts : row.kinds) counts = {kLargest, kLargest, kLargest, kLargest};
  row.all = {kLargest, kLargest, kLargest, kLargest};
  EXPECT_EQ(table_of(row).size(), kMemoryKindCount + 1);
}

}  // namespace
}  // namespace nvs::interposer::memory
