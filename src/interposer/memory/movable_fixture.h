// SPDX-License-Identifier: Apache-2.0
// For tests of hooks that meet memory of ours: a region of two chunks and an arena, as allocations
// under a daemon make them, and a driver that remembers what it was asked about.
#pragma once

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {

class MovableFixture : public HooksFixture {
 protected:
  static constexpr std::uint64_t kUnit = 2 * vmm::kMiB;
  static constexpr std::uint64_t kRegion = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t kRegionBytes = vmm::kChunkBytes + 100;
  static constexpr std::uint64_t kArena = std::uint64_t{1} << 41U;
  static constexpr std::uint64_t kSample = 0x5000;  // what the driver allocates itself
  static constexpr std::uint64_t kForeign = 0x9000;

  void SetUp() override {
    HooksFixture::SetUp();
    session::memory_start_over_in_child();
    forget_samples_in_child();
    session::memory_announces(0);
    session::memory_known(0, true);
    swap::rooms[0].is_free = true;  // its first word is not waited for
    driver_.given = kSample;
    region_ = insert(kRegion, kRegionBytes, vmm::RegionKind::plain);
    insert(kArena, kUnit, vmm::RegionKind::arena);
    swap::arenas.add({kContext, 0}, kArena, kUnit);
    vmm::Took took{};
    small_ = swap::arenas.take({kContext, 0}, 100, took)->base;
    write_down(kRegion, kRegionBytes);
    write_down(small_, 100);
  }
  void TearDown() override { session::memory_start_over_in_child(); }

  static void write_down(std::uint64_t address, std::uint64_t size) {
    count_movable({.space = Space::address,
                   .kind = MemoryKind::movable,
                   .id = address,
                   .bytes = size,
                   .owner = {OwnerType::context, kContext}});
  }
  // Pages for all of it.
  void bring(vmm::Region* region) {
    for (std::uint32_t i = 0; i < region->split().chunks; ++i) {
      swap::regions.apply(region, i, {.event = vmm::ChunkEvent::backed, .handle = 70 + i});
    }
  }

  vmm::Region* region_ = nullptr;
  std::uint64_t small_ = 0;

 private:
  static void count_movable(const Allocation& allocation) { books().allocated(allocation, 0); }
  static vmm::Region* insert(std::uint64_t base, std::uint64_t size, vmm::RegionKind kind) {
    return swap::regions.insert({base, size, kUnit, kContext, 0, kind});
  }
};

}  // namespace nvs::interposer::memory
