// SPDX-License-Identifier: Apache-2.0
// What the processes of a simulated machine share: who they are, how much memory of each GPU each
// of them holds, whose turn it is to compute, and until when each copy engine is taken. Plain data
// in one mapped file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cuda_sim/config/model.h"
#include "cuda_sim/machine/compute_token.h"
#include "cuda_sim/machine/process_identity.h"
#include "cuda_sim/machine/shared_lock.h"

namespace nvs::sim {

inline constexpr unsigned kProcessesMax = 512;
inline constexpr unsigned kSharedAllocationsMax = 2048;
inline constexpr unsigned kViolationsMax = 64;
inline constexpr unsigned kUtilisationSamples = 32;
inline constexpr unsigned kManagedFramesMax = 72 << 10;  // of a GPU; an H200 has room for 71577

struct ProcessGpu {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> contexts{0};
  std::atomic<std::uint32_t> managed_blocks{0};  // of its managed memory, those on this GPU
  std::atomic<std::uint64_t> busy_ns{0};
};

/// A slot is taken when `pid` is not 0. Its owner alone writes the rest; anyone may clear it once
/// the owner is dead.
struct ProcessSlot {
  std::atomic<std::int32_t> pid{0};
  std::uint64_t start_time = 0;
  std::array<char, 64> name{};
  std::array<ProcessGpu, kGpusMax> gpu;
};

/// Memory that more than one process may hold (exported, or opened through IPC). It is charged
/// once, to nobody, and is free when no live process has its bit set.
struct SharedAllocation {
  std::atomic<std::uint64_t> id{0};  // 0: the entry is free
  std::uint32_t gpu = 0;
  std::atomic<std::uint64_t> bytes{0};
  std::array<std::atomic<std::uint64_t>, kProcessesMax / 64> holders{};
};

/// Room for a block of managed memory on a GPU. Without initialisers, so that a new machine does
/// not touch them all: those below `frames_top` have been written.
struct ManagedFrame {
  std::uint64_t block;        // its name; 0: the frame is free
  std::uint64_t used_at;      // in the machine's count of touches
  std::uint32_t slot;         // of the process that it belongs to
  std::uint32_t on_host_too;  // a copy as good is at home
};

struct UtilisationSample {
  std::atomic<Nanos> at{0};
  std::atomic<std::uint64_t> busy_ns{0};
};

struct GpuShare {
  ComputeToken compute;
  alignas(64) std::atomic<Nanos> copy_in_free_at{0};
  alignas(64) std::atomic<Nanos> copy_out_free_at{0};
  alignas(64) std::atomic<std::uint64_t> overrun_ns{0};
  std::atomic<std::uint64_t> copied_ns{0};
  std::atomic<std::uint64_t> called_ns{0};   // modelled time of calls
  std::atomic<std::uint32_t> frames_top{0};  // frames that were ever used
  std::atomic<std::uint64_t> managed_in{0};  // blocks that came, and that were carried away
  std::atomic<std::uint64_t> managed_out{0};
  std::atomic<std::uint32_t> next_sample{0};
  std::array<UtilisationSample, kUtilisationSamples> samples;
};

struct Segment {
  static constexpr std::uint64_t kMagic = 0x6e7673696d303032;  // "nvsim002"

  std::atomic<std::uint64_t> magic{0};
  std::uint64_t size = 0;
  std::array<char, 16> preset{};
  std::uint32_t gpus = 0;
  std::uint32_t scale = 1;
  double time_factor = 1;

  SharedLock ledger_lock{FromStopped::wait};
  std::atomic<std::uint64_t> next_shared_id{1};
  std::array<ProcessSlot, kProcessesMax> processes;
  std::array<SharedAllocation, kSharedAllocationsMax> shared;
  std::array<GpuShare, kGpusMax> gpu;
  std::atomic<std::uint64_t> next_managed_block{1};
  std::atomic<std::uint64_t> managed_touches{0};

  std::atomic<std::uint64_t> violations{0};
  std::array<std::array<char, 240>, kViolationsMax> violation_text{};

  // Under the ledger's lock.
  std::array<std::array<ManagedFrame, kManagedFramesMax>, kGpusMax> frames;
};

}  // namespace nvs::sim
