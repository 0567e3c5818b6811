// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a card and CUDA does not: power, temperatures, clocks at rest, part numbers.
// The model (config/model.h) holds the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cuda_api/nvml_types.h"

namespace nvs::nvml {

enum class Errors { page_retirement, row_remapping };

struct Board {
  std::string_view preset;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  nvmlDeviceArchitecture_t architecture;
  const char* vbios_version;
  const char* part_number;
  std::uint64_t
      reserved_bytes;  // of the card's memory: the driver's own, no program ever sees them
  std::uint64_t bar1_bytes;
  unsigned cores_per_multiprocessor;
  unsigned memory_bus_bits;
  unsigned pcie_generation;
  unsigned power_idle_mw;
  unsigned power_min_mw;
  unsigned power_max_mw;
  unsigned celsius_idle;
  unsigned celsius_busy;
  std::array<unsigned, 4> celsius_limits;  // shutdown, slowdown, memory, GPU; 0: there is none
  unsigned idle_mhz;
  unsigned idle_memory_mhz;
  unsigned idle_video_mhz;
  unsigned video_mhz;
  nvmlPstates_t idle_state;
  Errors errors;
  bool has_mig;
};

/// The board of a preset of config/model.h, or null if there is none.
const Board* find_board(std::string_view preset);

}  // namespace nvs::nvml
