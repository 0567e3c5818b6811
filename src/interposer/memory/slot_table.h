// SPDX-License-Identifier: Apache-2.0
// A hash table for code that may not use malloc: open addressing in pages of its own, doubled when
// they fill up. All zero is an empty table that holds no memory, so it needs no constructor at run
// time, and a table that cannot grow stays usable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/linux_calls.h"

namespace nvs::interposer::memory {

using MapPages = void* (*)(std::size_t);

// Slot is a struct of plain data. A slot of zeroes is free; others answer
//   bool used() const;   std::uint64_t hash() const;   bool same_key(const Slot&) const.
template <class Slot>
class SlotTable {
 public:
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_ == nullptr ? 0 : std::size_t{1} << bits_; }

  // The slot with the key of `wanted`; null if there is none. Pointers hold until the next insert
  // or erase.
  Slot* find(const Slot& wanted) const {
    if (slots_ == nullptr) return nullptr;
    Slot* slot = &slots_[place_of(wanted)];
    return slot->used() ? slot : nullptr;
  }

  // The index-th of capacity() places, used or not.
  const Slot& at(std::size_t index) const { return slots_[index]; }
  Slot& at(std::size_t index) { return slots_[index]; }

  // Adds a slot whose key is not there yet; null if no memory can be had for it.
  Slot* insert(const Slot& slot, MapPages map) {
    if (size_ >= limit() && !grow(map) && size_ + 1 >= capacity()) return nullptr;
    ++size_;
    Slot& place = slots_[place_of(slot)];
    place = slot;
    return &place;
  }

  // Closes the gap by moving later slots of the same run back, so that no marks are left behind.
  void erase(Slot* slot) {
    std::size_t gap = static_cast<std::size_t>(slot - slots_);
    for (std::size_t next = after(gap); slots_[next].used(); next = after(next)) {
      const std::size_t wished = home_of(slots_[next]);
      // Cyclic distances: a slot may move back to the gap if its home is not after the gap.
      if (((next - wished) & mask()) >= ((next - gap) & mask())) {
        slots_[gap] = slots_[next];
        gap = next;
      }
    }
    slots_[gap] = Slot{};
    --size_;
  }

  // Calls `visit` with a copy of each slot and drops those for which it says true. A slot may be
  // shown twice; `visit` does not touch the table.
  template <class Visit>
  void erase_if(Visit visit) {
    for (std::size_t i = 0; i < capacity();) {
      if (slots_[i].used() && visit(slots_[i])) {
        erase(&slots_[i]);
      } else {
        ++i;
      }
    }
  }

  // Empty again, without giving the pages back: for the child of a fork, where the thread that held
  // the lock may have left anything in here.
  void forget() { *this = SlotTable{}; }

 private:
  static constexpr unsigned kFirstBits = 6;
  static constexpr unsigned kHashBits = 64;

  std::size_t mask() const { return capacity() - 1; }
  std::size_t after(std::size_t place) const { return (place + 1) & mask(); }
  std::size_t limit() const { return capacity() / 8 * 5; }
  std::size_t home_of(const Slot& slot) const {
    return static_cast<std::size_t>(slot.hash() >> (kHashBits - bits_));
  }

  // Where the key is, or the free place where it would go. There is always a free one.
  std::size_t place_of(const Slot& wanted) const {
    std::size_t place = home_of(wanted);
    while (slots_[place].used() && !slots_[place].same_key(wanted)) place = after(place);
    return place;
  }

  bool grow(MapPages map) {
    const unsigned bits = slots_ == nullptr ? kFirstBits : bits_ + 1;
    void* pages = map(sizeof(Slot) << bits);
    if (pages == nullptr) return false;
    const SlotTable old = *this;
    slots_ = static_cast<Slot*>(pages);
    bits_ = bits;
    for (std::size_t i = 0; i < old.capacity(); ++i) {
      if (old.slots_[i].used()) slots_[place_of(old.slots_[i])] = old.slots_[i];
    }
    if (old.slots_ != nullptr) os::unmap_pages(old.slots_, sizeof(Slot) << old.bits_);
    return true;
  }

  Slot* slots_ = nullptr;
  std::size_t size_ = 0;
  unsigned bits_ = 0;
};

// Spreads keys whose low bits are all alike (addresses) over the high bits, which the table uses.
constexpr std::uint64_t spread(std::uint64_t key) { return key * 0x9E3779B97F4A7C15U; }

}  // namespace nvs::interposer::memory
