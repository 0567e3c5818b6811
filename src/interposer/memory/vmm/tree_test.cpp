// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/tree.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

struct Entry {
  int number = 0;
  TreeLinks<Entry> links = {};
};
struct ByNumber {
  static int key(const Entry& entry) { return entry.number; }
};
using Entries = Tree<Entry, ByNumber>;
using TreeModel = std::map<int, Entry*>;

Entry* at(const TreeModel& model, TreeModel::const_iterator place) {
  return place == model.end() ? nullptr : place->second;
}

void expect_same_around(const Entries& tree, const TreeModel& model, int number) {
  const auto above = model.upper_bound(number);
  EXPECT_EQ(tree.after(number), at(model, above));
  EXPECT_EQ(tree.ceiling(number), at(model, model.lower_bound(number)));
  EXPECT_EQ(tree.floor(number), above == model.begin() ? nullptr : std::prev(above)->second);
}

// What keeps the tree flat, when nodes go as well.
void expect_heap(const TreeModel& model) {
  for (const auto& [number, entry] : model) {
    for (const Entry* child : {entry->links.left, entry->links.right}) {
      EXPECT_TRUE(child == nullptr || child->links.priority <= entry->links.priority);
    }
  }
}

int height_of(const Entry* entry) {
  if (entry == nullptr) return 0;
  return 1 + std::max(height_of(entry->links.left), height_of(entry->links.right));
}

TEST(TreeTest, AgreesWithAMapInRandomOrder) {
  std::mt19937 random{3};
  std::vector<Entry> entries(400);
  Entries tree;
  TreeModel model;
  for (int i = 0; i < 10000; ++i) {
    const int number = static_cast<int>(random() % entries.size());
    Entry& entry = entries[static_cast<std::size_t>(number)];
    entry.number = number;
    if (model.count(number) != 0) {
      tree.erase(&entry);
      model.erase(number);
    } else {
      tree.insert(&entry);
      model[number] = &entry;
    }
    const int other = static_cast<int>(random() % (entries.size() + 2)) - 1;
    expect_same_around(tree, model, other);
    expect_same_around(tree, model, number);
    ASSERT_EQ(tree.first(), at(model, model.begin()));
    ASSERT_EQ(tree.is_empty(), model.empty());
    expect_heap(model);
    ASSERT_FALSE(testing::Test::HasFailure()) << i;
  }
}

TEST(TreeTest, LeavesAloneWhatIsNotInIt) {
  Entries tree;
  Entries other;
  Entry inside{4};
  Entry outside[] = {{1}, {2}, {3}};
  tree.insert(&inside);
  for (Entry& entry : outside) other.insert(&entry);
  for (Entry& entry : outside) tree.erase(&entry);
  EXPECT_EQ(tree.first(), &inside);
  for (Entry& entry : outside) EXPECT_EQ(other.ceiling(entry.number), &entry);
}

// Keys that come in order are the usual case for addresses, and the worst one for plain trees.
TEST(TreeTest, IsFlatWhateverTheOrder) {
  constexpr int kEntries = 100000;
  for (const int direction : {1, -1}) {
    std::vector<Entry> entries(kEntries);
    Entries tree;
    for (int i = 0; i < kEntries; ++i) {
      entries[static_cast<std::size_t>(i)].number = direction * i;
      tree.insert(&entries[static_cast<std::size_t>(i)]);
    }
    // The root is the entry with the highest priority.
    const auto root = std::max_element(entries.begin(), entries.end(), [](auto& a, auto& b) {
      return a.links.priority < b.links.priority;
    });
    EXPECT_LT(height_of(&*root), 60);
    int seen = 0;
    for (Entry* entry = tree.first(); entry != nullptr; entry = tree.after(entry->number)) ++seen;
    EXPECT_EQ(seen, kEntries);
  }
}

}  // namespace
}  // namespace nvs::interposer::vmm
