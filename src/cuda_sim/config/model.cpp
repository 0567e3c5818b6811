// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/model.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;

// Measured on the card. The VMM costs are fitted to mapping and unmapping 8 GiB in chunks of 2 MiB
// to 1 GiB; missing managed memory comes at 6.1 to 10.4 GB/s and goes at 12.7 to 15.1.
constexpr Model kH200 = {
    .preset = "h200",
    .device_name = "NVIDIA H200",
    .memory_bytes = 150109880320,
    .context_bytes = 526 * kMiB,
    .further_context_bytes = 287 * kMiB,
    .capability_major = 9,
    .capability_minor = 0,
    .multiprocessors = 132,
    .clock_khz = 1980000,
    .memory_clock_khz = 3201000,
    .memory_bus_bits = 6016,
    .l2_bytes = 62914560,
    .shared_per_block_optin = 232448,
    .shared_per_multiprocessor = 233472,
    .threads_per_multiprocessor = 2048,
    .kernel_bytes_per_ns = 3570,
    .read_bytes_per_ns = 4100,
    .flops_per_ns = 16500,
    .kernel_floor_ns = 2000,
    .copy_bytes_per_ns = 55.2,
    .duplex_bytes_per_ns = 50.8,
    .pageable_in_bytes_per_ns = 7.9,
    .pageable_out_bytes_per_ns = 13.7,
    .managed_fault_bytes_per_ns = 8.2,
    .managed_prefetch_bytes_per_ns = 49.7,
    .managed_out_bytes_per_ns = 13.9,
    .slice_ns = 2400000,
    .switch_ns = 200000,
    .launch_ns = 3400,
    .start_ns = 5000,
    .notify_ns = 4500,
    .event_record_ns = 260,
    .event_query_ns = 180,
    .alloc = {35000, 0},
    .free = {30000, 0},
    .vmm_create = {9000, 40},
    .vmm_map = {800, 0},
    .vmm_access = {27500, 40},
    .vmm_unmap = {23000, 340},
    .vmm_release = {10300, 340},
};

// The card's datasheet and common measurements of PCIe 3.0; call costs as on the H200, for want of
// a card to ask. The rates of managed memory are set so that four tasks that go through 12 GB an
// iteration take 13 to 35 s for it on one card, as was seen.
constexpr Model kT4 = {
    .preset = "t4",
    .device_name = "Tesla T4",
    .memory_bytes = 15655829504,
    .context_bytes = 108 * kMiB,
    .further_context_bytes = 60 * kMiB,
    .capability_major = 7,
    .capability_minor = 5,
    .multiprocessors = 40,
    .clock_khz = 1590000,
    .memory_clock_khz = 5001000,
    .memory_bus_bits = 256,
    .l2_bytes = 4194304,
    .shared_per_block_optin = 65536,
    .shared_per_multiprocessor = 65536,
    .threads_per_multiprocessor = 1024,
    .kernel_bytes_per_ns = 300,
    .read_bytes_per_ns = 300,
    .flops_per_ns = 2500,
    .kernel_floor_ns = 3000,
    .copy_bytes_per_ns = 12.3,
    .duplex_bytes_per_ns = 10.8,
    .pageable_in_bytes_per_ns = 5.5,
    .pageable_out_bytes_per_ns = 5.5,
    .managed_fault_bytes_per_ns = 3.6,
    .managed_prefetch_bytes_per_ns = 11.1,
    .managed_out_bytes_per_ns = 5.5,
    .slice_ns = 2400000,
    .switch_ns = 200000,
    .launch_ns = 4000,
    .start_ns = 6000,
    .notify_ns = 6000,
    .event_record_ns = 300,
    .event_query_ns = 200,
    .alloc = {35000, 0},
    .free = {30000, 0},
    .vmm_create = {9000, 40},
    .vmm_map = {800, 0},
    .vmm_access = {27500, 40},
    .vmm_unmap = {23000, 340},
    .vmm_release = {10300, 340},
};

}  // namespace

const Model* find_model(std::string_view preset) {
  for (const Model* model : {&kH200, &kT4}) {
    if (model->preset == preset) return model;
  }
  return nullptr;
}

}  // namespace nvs::sim
