// SPDX-License-Identifier: Apache-2.0
// The addresses that the memory nodes of one graph have, for code that may not use malloc. The
// driver gives the same addresses again where the order of the nodes allows, so what a graph asks
// for at once is how many bytes have an address, and not the sum over its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "os/linux_calls.h"

namespace nvs::interposer::memory {

// A list in pages of its own. All zero is an empty one that holds no memory.
template <class Item>
class PageList {
 public:
  std::size_t size() const { return size_; }
  Item& operator[](std::size_t index) { return items_[index]; }
  const Item& operator[](std::size_t index) const { return items_[index]; }

  // False: there is no memory for it.
  bool insert(std::size_t index, const Item& item) {
    if (size_ == capacity_ && !grow()) return false;
    std::memmove(items_ + index + 1, items_ + index, (size_ - index) * sizeof(Item));
    items_[index] = item;
    ++size_;
    return true;
  }
  void erase(std::size_t index) {
    --size_;
    std::memmove(items_ + index, items_ + index + 1, (size_ - index) * sizeof(Item));
  }
  void give_back() {
    if (items_ != nullptr) os::unmap_pages(items_, capacity_ * sizeof(Item));
    *this = PageList{};
  }

 private:
  static constexpr std::size_t kFirst = 4096 / sizeof(Item);

  bool grow() {
    const std::size_t capacity = capacity_ == 0 ? kFirst : 2 * capacity_;
    auto* const items = static_cast<Item*>(os::map_pages(capacity * sizeof(Item)));
    if (items == nullptr) return false;
    if (size_ != 0) std::memcpy(items, items_, size_ * sizeof(Item));
    if (items_ != nullptr) os::unmap_pages(items_, capacity_ * sizeof(Item));
    items_ = items;
    capacity_ = capacity;
    return true;
  }

  Item* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Addresses that count, the record in the books that they count in, and the GPU that they are of.
struct GraphRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t record = 0;
  int device = 0;
};

// In the order of their addresses; none of them is in two.
class GraphRanges {
 public:
  std::size_t size() const { return ranges_.size(); }
  std::uint64_t record(std::size_t index) const { return ranges_[index].record; }
  std::uint64_t bytes_on(int device) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const GraphRange& range = ranges_[i];
      if (range.device == device) sum += range.end - range.begin;
    }
    return sum;
  }
  void give_back() { ranges_.give_back(); }

  // How many bytes of [begin, begin + bytes) are in none.
  std::uint64_t count_new(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t end = begin + bytes;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ranges_.size() && begin < end; ++i) {
      const GraphRange& range = ranges_[i];
      if (range.end <= begin) continue;
      if (range.begin >= end) break;
      if (range.begin > begin) sum += range.begin - begin;
      begin = range.end;
    }
    return begin < end ? sum + (end - begin) : sum;
  }

  // Those become ranges. False: there is no memory for all of them.
  bool add(std::uint64_t begin, std::uint64_t bytes, std::uint64_t record, int device = 0) {
    const std::uint64_t end = begin + bytes;
    for (std::size_t i = 0; begin < end; ++i) {
      const bool is_last = i == ranges_.size() || ranges_[i].begin >= end;
      if (!is_last && ranges_[i].end <= begin) continue;
      const std::uint64_t stop = is_last ? end : ranges_[i].begin;
      if (stop > begin && !ranges_.insert(i, {begin, stop, record, device})) return false;
      begin = ranges_[i].end;
    }
    return true;
  }

 private:
  PageList<GraphRange> ranges_;
};

}  // namespace nvs::interposer::memory
