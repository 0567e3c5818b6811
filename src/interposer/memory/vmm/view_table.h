// SPDX-License-Identifier: Apache-2.0
// Memory that a program created itself (cuMemCreate), and where it has mapped it. The memory is a
// region of ours at addresses of its own, its home; a view is a place where the program wants to
// see the same pages. Here is written down who refers to what, which pages are there, and who may
// use them. Entries do not move. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_api/cuda_memory.h"
#include "interposer/memory/vmm/page_pool.h"
#include "interposer/memory/vmm/split.h"
#include "interposer/memory/vmm/tree.h"
#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

// Devices whose access to a view is remembered.
inline constexpr int kViewDevices = 32;

struct Created;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

  constexpr std::uint64_t end() const { return begin + bytes; }
  constexpr bool has(std::uint64_t address) const { return address - begin < bytes; }
  constexpr bool has(const Range& other) const {
    return other.begin >= begin && other.end() <= end();
  }
};

struct View {
  Range range = {};
  Range reserved = {};  // the program's reservation that it lies in
  Created* created = nullptr;
  std::uint64_t number = 0;                // no other view ever has it
  std::uint8_t access[kViewDevices] = {};  // CUmemAccess_flags
  View* next = nullptr;                    // of the same memory
  TreeLinks<View> links = {};
};

// Where the pages of created memory are mapped for us.
struct Home {
  std::uint64_t base = 0;
  Created* created = nullptr;
  TreeLinks<Home> links = {};
};

struct Created {
  std::uint64_t token = 0;  // what the program has for a handle
  Home home = {};
  Split split = {};
  CUmemAllocationProp prop = {};
  std::uint32_t references = 1;  // the program's
  bool was_mapped = false;       // so there may be something in it
  bool is_pinned = false;        // its pages stay where they are
  // The driver's handle for all of it. It has no home any more, and the views are mapped with it.
  std::uint64_t solid = 0;
  std::uint64_t* pages = nullptr;  // of each chunk: the driver's handle; 0: away
  View* views = nullptr;
  Created* next_over = nullptr;  // for whoever ends several, which are taken out by then
  TreeLinks<Created> links = {};

  int device() const { return prop.location.id; }
  bool is_over() const { return references == 0 && views == nullptr; }
  bool is_all_there() const;
};

class ViewTable {
 public:
  explicit constexpr ViewTable(MapPages map = &os::map_pages) : pool_(map) {}

  // With one reference and no pages. Null if there is no memory to write it down.
  Created* create(std::uint64_t home, const Split& split, const CUmemAllocationProp& prop);
  // It has no views, and is not found any more; what it says can be read until it is dropped.
  void take_out(Created* created);
  void drop(Created* created) { pool_.drop(created); }
  // Its pages are no business of the table's any more.
  void leave_home(Created* created, std::uint64_t solid);

  static constexpr bool is_token(std::uint64_t handle) {
    return (handle & kTokenMask) == kTokenTag;
  }
  Created* find(std::uint64_t token) const;
  // The one whose home has this address.
  Created* at_home(std::uint64_t address) const;

  // Null if it reaches into another view, or there is no memory to write it down.
  View* add_view(Created* created, const Range& range);
  void remove_view(View* view);
  // The view with this address.
  View* view_at(std::uint64_t address) const;
  // The first of those that have something in the range; they go on with next_in().
  View* first_in(const Range& range) const;
  View* next_in(const Range& range, const View* view) const;
  // Whether the range has all of each view that it has something of.
  bool is_whole(const Range& range) const;

  std::size_t size() const { return size_; }  // of created memory
  std::size_t bytes_of_books() const { return pool_.bytes_taken(); }

  // For the child of a fork.
  void forget();

 private:
  // Handles of the driver are addresses or small numbers.
  static constexpr std::uint64_t kTokenTag = std::uint64_t{0x6e76} << 48U;
  static constexpr std::uint64_t kTokenMask = std::uint64_t{0xffff} << 48U;

  struct Order {
    static std::uint64_t key(const Created& created) { return created.token; }
    static std::uint64_t key(const Home& home) { return home.base; }
    static std::uint64_t key(const View& view) { return view.range.begin; }
  };

  PagePool pool_;
  Tree<Created, Order> created_ = {};
  Tree<Home, Order> homes_ = {};
  Tree<View, Order> views_ = {};
  std::size_t size_ = 0;
  std::uint64_t tokens_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace nvs::interposer::vmm
