// SPDX-License-Identifier: Apache-2.0
// The newest entries of a list that never ends. Each has a number that it keeps, from 0 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace nvs::daemon {

template <class Entry>
class Ring {
 public:
  explicit Ring(std::size_t entries_max) : max_(entries_max) {
    NVS_ASSERT(entries_max > 0);
    // Addresses, not memory: what is never used costs nothing, and what is there is never copied
    // while clients wait for an answer.
    entries_.reserve(max_);
  }

  // Its number.
  std::uint64_t add(Entry entry) {
    if (entries_.size() < max_) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[added_ % max_] = std::move(entry);
    }
    return added_++;
  }
  // Null if it is gone already.
  Entry* find(std::uint64_t number) {
    const bool is_there = number < added_ && added_ - number <= entries_.size();
    return is_there ? &entries_[number % max_] : nullptr;
  }
  std::size_t size() const { return entries_.size(); }
  // The newest is 1, and size() the oldest.
  const Entry& from_end(std::size_t back) const { return entries_[(added_ - back) % max_]; }

 private:
  std::size_t max_;
  std::uint64_t added_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace nvs::daemon
