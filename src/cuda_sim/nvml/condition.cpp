// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/condition.h"

#include "cuda_sim/machine/clock.h"

namespace nvs::nvml {
namespace {

unsigned utilisation(const Gpu& gpu) { return gpu.machine.utilisation(gpu.index, sim::now_ns()); }

unsigned between(unsigned idle, unsigned busy, unsigned percent) {
  return idle + (busy - idle) * percent / 100;
}

}  // namespace

bool is_busy(const Gpu& gpu) { return utilisation(gpu) > 0; }

unsigned power_mw(const Gpu& gpu) {
  return between(gpu.board.power_idle_mw, gpu.board.power_max_mw, utilisation(gpu));
}

unsigned celsius(const Gpu& gpu) {
  return between(gpu.board.celsius_idle, gpu.board.celsius_busy, utilisation(gpu));
}

std::uint64_t energy_mj(const Gpu& gpu) {
  const auto on_us = static_cast<std::uint64_t>(sim::now_ns()) / 1000;
  const std::uint64_t busy_us = gpu.machine.gpu(gpu.index).compute.busy_ns() / 1000;
  const std::uint64_t extra_mw = gpu.board.power_max_mw - gpu.board.power_idle_mw;
  return (on_us * gpu.board.power_idle_mw + busy_us * extra_mw) / 1'000'000;
}

unsigned clock_now(const Gpu& gpu, nvmlClockType_t type) {
  if (is_busy(gpu)) return clock_max(gpu, type);
  if (type == NVML_CLOCK_MEM) return gpu.board.idle_memory_mhz;
  return type == NVML_CLOCK_VIDEO ? gpu.board.idle_video_mhz : gpu.board.idle_mhz;
}

unsigned clock_max(const Gpu& gpu, nvmlClockType_t type) {
  if (type == NVML_CLOCK_MEM) return static_cast<unsigned>(gpu.model.memory_clock_khz) / 1000;
  if (type == NVML_CLOCK_VIDEO) return gpu.board.video_mhz;
  return static_cast<unsigned>(gpu.model.clock_khz) / 1000;
}

}  // namespace nvs::nvml
