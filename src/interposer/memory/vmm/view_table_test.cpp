// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/view_table.h"

#include <gtest/gtest.h>

#include "interposer/memory/vmm/test_pages.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kUnit = 2 * kMiB;
constexpr std::uint64_t kHome = std::uint64_t{1} << 40U;
constexpr std::uint64_t kAddress = std::uint64_t{1} << 41U;

class ViewTableTest : public testing::Test {
 protected:
  Created* create(std::uint64_t home, std::uint64_t bytes) {
    Split split;
    split_region(bytes, kUnit, split);
    CUmemAllocationProp prop{};
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 3};
    return table_.create(home, split, prop);
  }
  void remove(Created* created) {
    table_.take_out(created);
    table_.drop(created);
  }

  ViewTable table_;
};

TEST_F(ViewTableTest, TokensAreNoAddressesAndNeverTheSame) {
  const Created* first = create(kHome, kUnit);
  const std::uint64_t old = first->token;
  EXPECT_TRUE(ViewTable::is_token(old));
  EXPECT_FALSE(ViewTable::is_token(kHome));
  EXPECT_FALSE(ViewTable::is_token(0));
  EXPECT_EQ(table_.find(old), first);
  EXPECT_EQ(table_.find(old + 1), nullptr);
  EXPECT_EQ(first->device(), 3);
  remove(table_.find(old));
  EXPECT_EQ(table_.find(old), nullptr);
  EXPECT_NE(create(kHome, kUnit)->token, old) << "at the same addresses";
}

TEST_F(ViewTableTest, IsFoundByEveryAddressOfItsHome) {
  Created* created = create(kHome, 2 * kUnit);
  EXPECT_EQ(table_.at_home(kHome - 1), nullptr);
  EXPECT_EQ(table_.at_home(kHome + 2 * kUnit - 1), created);
  EXPECT_EQ(table_.at_home(kHome + 2 * kUnit), nullptr);
  table_.leave_home(created, 77);
  EXPECT_EQ(table_.at_home(kHome), nullptr);
  EXPECT_EQ(created->solid, 77U);
  EXPECT_EQ(table_.at_home(kHome), nullptr);
  Created* other = create(kHome, kUnit);
  EXPECT_EQ(table_.at_home(kHome), other) << "addresses that were given out again";
  remove(created);
  EXPECT_EQ(table_.at_home(kHome), other);
}

TEST_F(ViewTableTest, IsAllThereWhenEveryChunkHasPages) {
  Created* created = create(kHome, kChunkBytes + 1);
  EXPECT_FALSE(created->is_all_there());
  created->pages[0] = 1;
  EXPECT_FALSE(created->is_all_there());
  created->pages[1] = 2;
  EXPECT_TRUE(created->is_all_there());
}

TEST_F(ViewTableTest, ViewsAreFoundByAddress) {
  Created* created = create(kHome, 2 * kUnit);
  View* view = table_.add_view(created, {kAddress, 2 * kUnit});
  EXPECT_EQ(table_.view_at(kAddress - 1), nullptr);
  EXPECT_EQ(table_.view_at(kAddress + 2 * kUnit - 1), view);
  EXPECT_EQ(table_.view_at(kAddress + 2 * kUnit), nullptr);
  EXPECT_EQ(view->access[0], 0);
  const std::uint64_t number = view->number;
  table_.remove_view(view);
  EXPECT_EQ(table_.view_at(kAddress), nullptr);
  EXPECT_NE(table_.add_view(created, {kAddress, 2 * kUnit})->number, number);
}

TEST_F(ViewTableTest, ViewsDoNotReachIntoEachOther) {
  Created* created = create(kHome, 2 * kUnit);
  ASSERT_NE(table_.add_view(created, {kAddress, 2 * kUnit}), nullptr);
  EXPECT_EQ(table_.add_view(created, {kAddress, 2 * kUnit}), nullptr);
  EXPECT_EQ(table_.add_view(created, {kAddress + kUnit, 2 * kUnit}), nullptr);
  EXPECT_EQ(table_.add_view(created, {kAddress - kUnit, 2 * kUnit}), nullptr);
  EXPECT_EQ(table_.add_view(created, {kAddress - kUnit, 8 * kUnit}), nullptr);
  EXPECT_NE(table_.add_view(created, {kAddress + 2 * kUnit, 2 * kUnit}), nullptr);
  EXPECT_NE(table_.add_view(created, {kAddress - 2 * kUnit, 2 * kUnit}), nullptr);
}

TEST_F(ViewTableTest, ARangeHasItsViewsInOrderAndWholeOrNot) {
  Created* created = create(kHome, 2 * kUnit);
  View* first = table_.add_view(created, {kAddress, 2 * kUnit});
  View* second = table_.add_view(created, {kAddress + 4 * kUnit, 2 * kUnit});
  const Range both{kAddress - kUnit, 8 * kUnit};
  EXPECT_EQ(table_.first_in(both), first);
  EXPECT_EQ(table_.next_in(both, first), second);
  EXPECT_EQ(table_.next_in(both, second), nullptr);
  EXPECT_TRUE(table_.is_whole(both));
  EXPECT_TRUE(table_.is_whole({kAddress, 6 * kUnit}));
  EXPECT_FALSE(table_.is_whole({kAddress, 5 * kUnit}));
  EXPECT_FALSE(table_.is_whole({kAddress + kUnit, 5 * kUnit}));
  EXPECT_FALSE(table_.is_whole({kAddress + kUnit, 1}));
  EXPECT_TRUE(table_.is_whole({kAddress + 2 * kUnit, 2 * kUnit})) << "between them";
  EXPECT_EQ(table_.first_in({kAddress + 2 * kUnit, 2 * kUnit}), nullptr);
  EXPECT_EQ(table_.first_in({kAddress, 0}), nullptr);
}

TEST_F(ViewTableTest, MemoryIsOverWithoutReferencesAndViews) {
  Created* created = create(kHome, kUnit);
  View* first = table_.add_view(created, {kAddress, kUnit});
  View* second = table_.add_view(created, {kAddress + kUnit, kUnit});
  created->references = 0;
  EXPECT_FALSE(created->is_over());
  table_.remove_view(first);
  EXPECT_FALSE(created->is_over());
  EXPECT_EQ(created->views, second);
  table_.remove_view(second);
  EXPECT_TRUE(created->is_over());
  created->references = 1;
  EXPECT_FALSE(created->is_over());
}

TEST_F(ViewTableTest, NothingIsLeftOfIt) {
  Created* created = create(kHome, 3 * kChunkBytes);
  table_.remove_view(table_.add_view(created, {kAddress, 3 * kChunkBytes}));
  remove(created);
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_EQ(table_.bytes_of_books(), 0U);
}

TEST_F(ViewTableTest, WithoutMemoryNothingIsWrittenDown) {
  ViewTable table{&TestPages::map};
  TestPages::calls_left = 0;
  EXPECT_EQ(table.create(kHome, {kUnit, 1}, {}), nullptr);
  TestPages::calls_left = 1;  // enough for one, and not for a million chunks
  EXPECT_EQ(table.create(kHome, {kChunksMax * kChunkBytes, kChunksMax}, {}), nullptr);
  EXPECT_EQ(table.bytes_of_books(), 0U);
  EXPECT_EQ(table.at_home(kHome), nullptr);
}

}  // namespace
}  // namespace nvs::interposer::vmm
