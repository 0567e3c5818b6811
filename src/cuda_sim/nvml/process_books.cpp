// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/process_books.h"

#include <array>
#include <bit>
#include <mutex>

namespace nvs::nvml {
namespace {

using SlotBytes = std::array<std::uint64_t, sim::kProcessesMax>;

// Memory that several processes hold is counted once, for the first of them, so that the processes
// add up to what is used.
SlotBytes shared_bytes(const sim::Segment& segment, unsigned gpu) {
  SlotBytes bytes{};
  for (const sim::SharedAllocation& entry : segment.shared) {
    if (entry.id.load() == 0 || entry.gpu != gpu) continue;
    for (unsigned word = 0; word < entry.holders.size(); ++word) {
      const std::uint64_t holders = entry.holders[word].load();
      if (holders == 0) continue;
      bytes[word * 64 + static_cast<unsigned>(std::countr_zero(holders))] += entry.bytes.load();
      break;
    }
  }
  return bytes;
}

}  // namespace

std::vector<GpuProcess> processes_on(sim::Machine& machine, unsigned gpu) {
  machine.reclaim();
  sim::Segment& segment = machine.segment();
  const std::lock_guard guard{segment.ledger_lock};
  const SlotBytes shared = shared_bytes(segment, gpu);
  std::vector<GpuProcess> processes;
  for (unsigned i = 0; i < sim::kProcessesMax; ++i) {
    const sim::ProcessSlot& slot = segment.processes[i];
    const sim::ProcessGpu& here = slot.gpu[gpu];
    const auto pid = static_cast<unsigned>(slot.pid.load());
    if (pid == 0 || here.contexts.load() == 0) continue;
    const std::uint64_t managed = here.managed_blocks.load() * machine.managed_block_bytes();
    processes.push_back({pid, here.bytes.load() + managed + shared[i], here.busy_ns.load()});
  }
  return processes;
}

}  // namespace nvs::nvml
