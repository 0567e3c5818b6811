// SPDX-License-Identifier: Apache-2.0
// What a modelled GPU can do and what each call of its driver costs: the figures that turn bytes
// and launches into time. Those of the H200 were measured; see docs/simulator.md for where each one
// comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nvs::sim {

inline constexpr unsigned kGpusMax = 16;

/// A cost that grows with the bytes handled: `base_ns + ns_per_mib * MiB`.
struct Cost {
  double base_ns = 0;
  double ns_per_mib = 0;
};

struct Model {
  std::string_view preset;
  const char* device_name;
  std::uint64_t memory_bytes;   // what cuDeviceTotalMem shows
  std::uint64_t context_bytes;  // what a process's first context takes before any allocation
  std::uint64_t further_context_bytes;  // what each further one takes
  int capability_major;
  int capability_minor;
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int shared_per_block_optin;
  int shared_per_multiprocessor;
  int threads_per_multiprocessor;

  double kernel_bytes_per_ns;  // memory traffic of a saturating kernel
  double read_bytes_per_ns;    // of a kernel that only reads
  double flops_per_ns;         // of the plain matmul kernel
  double kernel_floor_ns;      // no kernel is shorter
  double copy_bytes_per_ns;    // pinned, one direction alone
  double duplex_bytes_per_ns;  // pinned, each direction while the other is busy
  double pageable_in_bytes_per_ns;
  double pageable_out_bytes_per_ns;
  double managed_fault_bytes_per_ns;     // managed memory that a kernel finds missing
  double managed_prefetch_bytes_per_ns;  // that is brought in ahead
  double managed_out_bytes_per_ns;       // that goes back to the host
  std::int64_t slice_ns;                 // how long a context keeps the GPU while another waits
  std::int64_t switch_ns;                // what handing over after a full slice costs

  double launch_ns;
  double start_ns;   // from a submission to an idle GPU until it starts
  double notify_ns;  // from the end of work until a waiting thread knows
  double event_record_ns;
  double event_query_ns;
  Cost alloc;
  Cost free;
  Cost vmm_create;
  Cost vmm_map;
  Cost vmm_access;
  Cost vmm_unmap;
  Cost vmm_release;
};

/// The model of a preset, or null if there is none of that name.
const Model* find_model(std::string_view preset);

}  // namespace nvs::sim
