// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/named_memory.h"

#include "interposer/gate/graph_gpus.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::gate {
namespace {

std::uint32_t bit_or_none(int gpu) { return gpu >= 0 ? 1U << gpu : 0; }

}  // namespace

constinit std::atomic<std::uint32_t> several{0};

std::uint32_t owner_of(CUdeviceptr address) {
  swap::Named named;
  if (address == 0 || swap::whose(address, named) != swap::Whose::ours) return 0;
  const int gpu = named.allocated.device;
  return gpu >= 0 && gpu < kGpusMax ? 1U << gpu : 0;
}

std::uint32_t owners_named_by(const Call& call) {
  if (several.load(std::memory_order_acquire) == 0) return 0;
  if (call.names_many) return kAllGpus;
  if (call.graph != nullptr) return gpus_of_graph(call.graph);
  return owner_of(call.memory[0]) | owner_of(call.memory[1]);
}

// Where the driver does the work of a copy between two GPUs is its own business, so both count.
void note_submitted(std::uint32_t owners, int gpu) {
  const std::uint32_t at_work = owners == kAllGpus ? 0 : owners;
  swap::crossed(owners, at_work | bit_or_none(gpu));
}

void forget_gpus_in_child() { several.store(0, std::memory_order_relaxed); }

}  // namespace nvs::interposer::gate
