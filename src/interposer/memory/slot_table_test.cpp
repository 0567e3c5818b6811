// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/slot_table.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace nvs::interposer::memory {
namespace {

// Few different hashes, at the end of the table, so that runs are long and wrap around.
struct Crowded {
  std::uint64_t key = 0;
  std::uint64_t value = 0;

  bool used() const { return key != 0; }
  std::uint64_t hash() const { return ~((key % 3) << 60U); }
  bool same_key(const Crowded& other) const { return key == other.key; }
};

using Table = SlotTable<Crowded>;
using Model = std::map<std::uint64_t, std::uint64_t>;

void expect_same(const Table& table, const Model& model) {
  ASSERT_EQ(table.size(), model.size());
  for (const auto& [key, value] : model) {
    const Crowded* found = table.find({.key = key});
    ASSERT_NE(found, nullptr) << key;
    EXPECT_EQ(found->value, value);
  }
}

TEST(SlotTableTest, EmptyHoldsNoMemory) {
  Table table;
  EXPECT_EQ(table.capacity(), 0U);
  EXPECT_EQ(table.find({.key = 1}), nullptr);
  table.erase_if([](const Crowded&) { return true; });
  EXPECT_EQ(table.size(), 0U);
}

TEST(SlotTableTest, AgreesWithAMapInRandomOrder) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random{kSeed};
  Table table;
  Model model;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t key = 1 + random() % 200;
    Crowded* found = table.find({.key = key});
    ASSERT_EQ(found != nullptr, model.count(key) != 0);
    if (found != nullptr) {
      table.erase(found);
      model.erase(key);
    } else {
      const auto value = static_cast<std::uint64_t>(i);
      ASSERT_NE(table.insert({key, value}, &os::map_pages), nullptr);
      model[key] = value;
    }
  }
  expect_same(table, model);
}

TEST(SlotTableTest, EraseIfMissesNothing) {
  for (std::uint64_t count = 1; count < 120; ++count) {
    Table table;
    Model model;
    for (std::uint64_t key = 1; key <= count; ++key) {
      table.insert({key, key}, &os::map_pages);
      if (key % 4 != 0) model[key] = key;
    }
    table.erase_if([](const Crowded& slot) { return slot.key % 4 == 0; });
    expect_same(table, model);
  }
}

TEST(SlotTableTest, GrowsByDoubling) {
  Table table;
  for (std::uint64_t key = 1; key <= 1000; ++key) table.insert({key, key}, &os::map_pages);
  EXPECT_EQ(table.capacity(), 2048U);
  EXPECT_EQ(table.size(), 1000U);
}

}  // namespace
}  // namespace nvs::interposer::memory
