// SPDX-License-Identifier: Apache-2.0
// A chunk on its way out or in: what it holds meanwhile, and how far it has got.
#pragma once

#include <cstdint>

#include "interposer/memory/swap/lane.h"
#include "interposer/memory/vmm/plan.h"

namespace nvs::interposer::swap {

struct Flight {
  enum class Stage : std::uint8_t {
    begun,      // marked as being under way; nothing was submitted
    hashing,    // out: what is in it is being found out
    copying,    // a copy, or setting to zero, was submitted
    same,       // out: its place has the same already
    zero,       // out: it is all zero
    cancelled,  // it stays where it was
  };
  vmm::Move move;
  std::uint64_t address;
  std::uint64_t handle;
  vmm::HostPlace place;
  vmm::Hash hash;      // out: of what is copied, if it is known
  bool has_new_place;  // taken for this flight
  bool has_lane;
  int hash_group;  // the slot of the first that was hashed together with it
  Stage stage;
  Lane lane;

  const vmm::Chunk& chunk() const { return move.region->chunk(move.chunk); }
  std::uint64_t chunk_address() const {
    return move.region->base() + move.region->split().offset_of(move.chunk);
  }
  bool take_lane() {
    const std::uint64_t context = move.region->facts().context;
    const int gpu = move.region->facts().device;
    has_lane = context != 0 ? lane.take_for(reinterpret_cast<CUcontext>(context), gpu)
                            : lane.take_any(gpu);
    return has_lane;
  }
  void give_lane() {
    if (has_lane) lane.give_back();
    has_lane = false;
  }
};

}  // namespace nvs::interposer::swap
