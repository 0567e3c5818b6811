// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/named_memory.h"

#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::gate {
namespace {

constexpr std::uint32_t kAllOwners = (1U << kGpusMax) - 1;

// Graphs may hold work on memory of another GPU than the one where it runs. Which of them do is
// not followed through clones and updates.
constinit std::atomic<bool> graphs_cross{false};

std::uint32_t owner_of(CUdeviceptr address) {
  swap::Named named;
  if (address == 0 || swap::whose(address, named) != swap::Whose::ours) return 0;
  const int gpu = named.allocated.device;
  return gpu >= 0 && gpu < kGpusMax ? 1U << gpu : 0;
}

std::uint32_t bit_or_none(int gpu) { return gpu >= 0 ? 1U << gpu : 0; }

}  // namespace

constinit std::atomic<std::uint32_t> several{0};

std::uint32_t owners_named_by(const Call& call) {
  if (several.load(std::memory_order_acquire) == 0) return 0;
  const bool crosses = call.launches_graph && graphs_cross.load(std::memory_order_acquire);
  if (call.names_many || crosses) return kAllOwners;
  return owner_of(call.memory[0]) | owner_of(call.memory[1]);
}

void note_in_graph(std::uint32_t owners, int gpu) {
  if ((owners & ~bit_or_none(gpu)) != 0) graphs_cross.store(true, std::memory_order_release);
}

// Where the driver does the work of a copy between two GPUs is its own business, so both count.
void note_submitted(std::uint32_t owners, int gpu) {
  const std::uint32_t at_work = owners == kAllOwners ? 0 : owners;
  swap::crossed(owners, at_work | bit_or_none(gpu));
}

void forget_graphs_in_child() {
  several.store(0, std::memory_order_relaxed);
  graphs_cross.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::gate
