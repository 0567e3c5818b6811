// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/board.h"

#include "cuda_api/nvml_constants.h"

namespace nvs::nvml {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;

// Read off the card with driver 580.159.04.
constexpr Board kH200 = {
    .preset = "h200",
    .pci_device_id = 0x233510de,
    .pci_subsystem_id = 0x18bf10de,
    .architecture = NVML_DEVICE_ARCH_HOPPER,
    .vbios_version = "96.00.A5.00.1A",
    .part_number = "692-2G520-0282-001",
    .reserved_bytes = 644939776,
    .bar1_bytes = 262144 * kMiB,
    .cores_per_multiprocessor = 128,
    .memory_bus_bits = 6016,
    .pcie_generation = 5,
    .power_idle_mw = 80000,
    .power_min_mw = 200000,
    .power_max_mw = 700000,
    .celsius_idle = 39,
    .celsius_busy = 65,
    .celsius_limits = {95, 89, 95, 87},
    .idle_mhz = 345,
    .idle_memory_mhz = 3201,
    .idle_video_mhz = 765,
    .video_mhz = 1545,
    .idle_state = NVML_PSTATE_0,
    .errors = Errors::row_remapping,
    .has_mig = true,
};

// The datasheet, and what nvidia-smi prints for such cards.
constexpr Board kT4 = {
    .preset = "t4",
    .pci_device_id = 0x1eb810de,
    .pci_subsystem_id = 0x12a210de,
    .architecture = NVML_DEVICE_ARCH_TURING,
    .vbios_version = "90.04.96.00.01",
    .part_number = "900-2G183-0000-001",
    .reserved_bytes = 15360 * kMiB - 15655829504,
    .bar1_bytes = 256 * kMiB,
    .cores_per_multiprocessor = 64,
    .memory_bus_bits = 256,
    .pcie_generation = 3,
    .power_idle_mw = 10000,
    .power_min_mw = 60000,
    .power_max_mw = 70000,
    .celsius_idle = 36,
    .celsius_busy = 70,
    .celsius_limits = {96, 93, 0, 85},
    .idle_mhz = 300,
    .idle_memory_mhz = 405,
    .idle_video_mhz = 540,
    .video_mhz = 1470,
    .idle_state = NVML_PSTATE_8,
    .errors = Errors::page_retirement,
    .has_mig = false,
};

}  // namespace

const Board* find_board(std::string_view preset) {
  for (const Board* board : {&kH200, &kT4}) {
    if (board->preset == preset) return board;
  }
  return nullptr;
}

}  // namespace nvs::nvml
