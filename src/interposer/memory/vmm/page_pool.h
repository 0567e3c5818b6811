// SPDX-License-Identifier: Apache-2.0
// Memory for tables whose entries must not move, without malloc: blocks of powers of two out of
// pages of its own. A block that is given back serves the next one of its size; the largest ones
// have pages to themselves, which go back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "interposer/memory/slot_table.h"

namespace nvs::interposer::vmm {

using memory::MapPages;

class PagePool {
 public:
  explicit constexpr PagePool(MapPages map) : map_(map) {}

  // Aligned to 16 bytes, with whatever content; null if there is no memory, which changes nothing.
  void* take(std::size_t bytes);
  // The same number of bytes as when it was taken.
  void give(void* block, std::size_t bytes);

  // So many objects in a row, as their default makes them.
  template <class Object>
  Object* make(std::size_t count = 1) {
    static_assert(alignof(Object) <= kAlignment);
    if (count > SIZE_MAX / sizeof(Object)) return nullptr;
    auto* objects = static_cast<Object*>(take(count * sizeof(Object)));
    if (objects == nullptr) return nullptr;
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(objects + i)) Object{};
    return objects;
  }
  template <class Object>
  void drop(Object* objects, std::size_t count = 1) {
    give(objects, count * sizeof(Object));
  }

  std::size_t bytes_taken() const { return taken_; }

  // Empty again, without giving the pages back: for the child of a fork, where the thread that held
  // the lock may have left anything in here.
  void forget() { *this = PagePool{map_}; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kAlignment = 16;
  static constexpr unsigned kFirstBits = 4;  // of the smallest blocks
  static constexpr unsigned kLastBits = 15;  // of the largest that share pages
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 18U;

  static unsigned bits_for(std::size_t bytes);
  void* cut(std::size_t bytes);

  MapPages map_;
  Free* free_[kLastBits + 1] = {};
  std::uint8_t* slab_ = nullptr;  // the rest of the slab that blocks are cut from
  std::size_t slab_left_ = 0;
  std::size_t taken_ = 0;  // as asked for
};

}  // namespace nvs::interposer::vmm
