// SPDX-License-Identifier: Apache-2.0
// The regions of a process: which one an address belongs to, which ones a context or a device has,
// and how their chunks are. Regions do not move, so a pointer to one holds until it is removed.
// Chunks change through the table alone, which keeps the sums. Not thread-safe: the caller holds a
// lock; it need not hold it while a chunk is on the move.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/memory/vmm/chunk.h"
#include "interposer/memory/vmm/page_pool.h"
#include "interposer/memory/vmm/split.h"
#include "interposer/memory/vmm/sums.h"
#include "interposer/memory/vmm/tree.h"
#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

inline constexpr int kDevicesMax = 64;

// created: by the program, which sees its pages elsewhere (view_table.h); it is of no context.
enum class RegionKind : std::uint8_t { plain, pitched, async, arena, created };

struct RegionFacts {
  std::uint64_t base = 0;         // a multiple of the granularity
  std::uint64_t bytes = 0;        // as the program asked for
  std::uint64_t granularity = 0;  // the driver's
  std::uint64_t context = 0;
  int device = 0;
  RegionKind kind = RegionKind::plain;
};

class Region {
 public:
  std::uint64_t base() const { return facts_.base; }
  const RegionFacts& facts() const { return facts_; }
  const Split& split() const { return split_; }  // and the bytes that are reserved
  const Sums& sums() const { return sums_; }
  // The number is below split().chunks.
  const Chunk& chunk(std::uint32_t number) const { return chunks_[number]; }

  // It was freed. It is over when its last chunk has ended its move; then it must be removed.
  bool is_ending() const { return is_ending_; }
  bool is_over() const { return chunks_gone_ == split_.chunks; }
  // It never moves again.
  bool is_pinned() const { return is_pinned_; }

  // Of the same device.
  Region* older() const { return older_; }
  Region* newer() const { return newer_; }

 private:
  friend class RegionTable;
  template <class, class>
  friend class Tree;

  RegionFacts facts_ = {};
  Split split_ = {};
  Sums sums_ = {};
  std::uint32_t chunks_gone_ = 0;
  bool is_ending_ = false;
  bool is_draft_ = true;
  bool is_pinned_ = false;
  Region* older_ = nullptr;
  Region* newer_ = nullptr;
  Chunk* chunks_ = nullptr;
  Chunk only_chunk_ = {};  // most regions have no other
  TreeLinks<Region> links = {};
};

class RegionTable {
 public:
  explicit constexpr RegionTable(MapPages map = &os::map_pages) : pool_(map) {}

  // The newest region of its device, all unbacked. Null if there can be no such region, if it
  // reaches into another one, or if there is no memory to write it down.
  Region* insert(const RegionFacts& facts);
  // The same in two steps: a draft is known to its maker alone, who may apply() events to it
  // without the lock. It can be discarded when its chunks own nothing.
  Region* draft(const RegionFacts& facts);
  void publish(Region* draft);
  void discard(Region* draft);
  // False, and it stays, if a chunk is not gone and may own something.
  bool remove(Region* region);

  // The one place where chunks change.
  Outcome apply(Region* region, std::uint32_t chunk, const Happening& what);

  // Every chunk is freed; those on the move when that ends. `release(chunk number, outcome)` gets
  // what there is to release now. False if it was freed before.
  template <class Release>
  bool free(Region* region, Release release) {
    if (region->is_ending_) return false;
    region->is_ending_ = true;
    for (std::uint32_t i = 0; i < region->split_.chunks; ++i) {
      const Outcome outcome = apply(region, i, {.event = ChunkEvent::freed});
      if (outcome.handle != 0 || outcome.place.is_some()) release(i, outcome);
    }
    return true;
  }

  // A window opens on the device: nothing there is clean any more. False if chunks are leaving, and
  // then none may open.
  bool written(int device);

  // All of it is resident, and stays so until it is freed: no plan touches it, and its bytes go
  // from the sums to those of what is pinned. False, and nothing changes, if some of it is not
  // resident.
  bool pin(Region* region);

  // The region with this address in it, of all that is reserved and not freed; null if there is
  // none.
  Region* find(std::uint64_t address) const;

  // In the order of addresses: the first region that begins above `base`, whether or not one begins
  // there. Regions that are ending are among them.
  Region* next(std::uint64_t base) const { return by_base_.after(base); }
  // Calls `visit(Region*)` for those of a context that are not ending; it may free and remove them.
  template <class Visit>
  void visit_context(std::uint64_t context, Visit visit) {
    std::uint64_t base = 0;
    for (Region* region = next(base); region != nullptr; region = next(base)) {
      base = region->base();
      if (region->facts_.context == context && !region->is_ending_) visit(region);
    }
  }
  // Those of a device by age: go on with older() and newer().
  Region* newest(int device) const { return is_device(device) ? devices_[device].newest : nullptr; }
  Region* oldest(int device) const { return is_device(device) ? devices_[device].oldest : nullptr; }

  Sums sums(int device) const { return is_device(device) ? devices_[device].sums : Sums{}; }
  Sums pinned(int device) const { return is_device(device) ? devices_[device].pinned : Sums{}; }
  std::size_t size() const { return size_; }
  // Of our own memory: 0 when there are no regions.
  std::size_t bytes_of_books() const { return pool_.bytes_taken(); }

  // For the child of a fork, which has no CUDA: forgets everything and gives nothing back.
  void forget();

 private:
  struct ByBase {
    static std::uint64_t key(const Region& region) { return region.base(); }
  };
  struct Device {
    Sums sums = {};    // of what can move
    Sums pinned = {};  // of what cannot
    Region* oldest = nullptr;
    Region* newest = nullptr;
  };

  Sums& sums_of(const Region& region) {
    Device& device = devices_[region.facts_.device];
    return region.is_pinned_ ? device.pinned : device.sums;
  }
  static constexpr bool is_device(int device) { return device >= 0 && device < kDevicesMax; }
  bool is_taken(std::uint64_t base, std::uint64_t bytes) const;
  void link_as_newest(Region* region);
  void unlink(Region* region);

  PagePool pool_;
  Tree<Region, ByBase> by_base_ = {};
  Device devices_[kDevicesMax] = {};
  std::size_t size_ = 0;
};

}  // namespace nvs::interposer::vmm
