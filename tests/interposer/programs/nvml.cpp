// SPDX-License-Identifier: Apache-2.0
// What monitoring tools ask of NVML, once through the loader and once by link.
#include "cuda_api/nvml.h"

#include <array>

#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

void* library() {
  static void* const nvml = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml == nullptr) give_up(::dlerror());
  return nvml;
}

struct Nvml {
  decltype(&nvmlInit_v2) init;
  decltype(&nvmlShutdown) shutdown;
  decltype(&nvmlDeviceGetCount_v2) get_count;
  decltype(&nvmlDeviceGetHandleByIndex_v2) get_handle;
  decltype(&nvmlDeviceGetName) get_name;
  decltype(&nvmlDeviceGetMemoryInfo) get_memory;
  decltype(&nvmlDeviceGetMemoryInfo_v2) get_memory_v2;
  decltype(&nvmlDeviceGetUtilizationRates) get_utilization;
  decltype(&nvmlDeviceGetComputeRunningProcesses_v3) get_processes;
};

void print_device(const Nvml& nvml, unsigned index) {
  nvmlDevice_t device = nullptr;
  std::printf("handle: %d\n", nvml.get_handle(index, &device));
  std::array<char, 96> name{};
  std::printf("name: %d %s\n", nvml.get_name(device, name.data(), name.size()), name.data());
  nvmlMemory_t memory{};
  std::printf("memory: %d", nvml.get_memory(device, &memory));
  std::printf(" %llu %llu %llu\n", memory.total, memory.free, memory.used);
  nvmlMemory_v2_t memory_v2{};
  std::printf("wrong version: %d\n", nvml.get_memory_v2(device, &memory_v2));
  nvmlUtilization_t utilization{};
  std::printf("utilization: %d", nvml.get_utilization(device, &utilization));
  std::printf(" %u %u\n", utilization.gpu, utilization.memory);
  unsigned count = 0;
  std::printf("processes: %d", nvml.get_processes(device, &count, nullptr));
  std::printf(" %u\n", count);
}

int print_all(const Nvml& nvml) {
  unsigned count = 0;
  std::printf("too early: %d\n", nvml.get_count(&count));
  nvmlMemory_t memory{};
  std::printf("too early: %d\n", nvml.get_memory(nullptr, &memory));
  std::printf("init: %d\n", nvml.init());
  std::printf("count: %d", nvml.get_count(&count));
  std::printf(" %u\n", count);
  for (unsigned i = 0; i <= count; ++i) print_device(nvml, i);
  std::printf("end: %d\n", nvml.shutdown());
  evidence_of("nvmlDeviceGetMemoryInfo", nvml.get_memory);
  return 0;
}

int by_link() {
  return print_all({&nvmlInit_v2, &nvmlShutdown, &nvmlDeviceGetCount_v2,
                    &nvmlDeviceGetHandleByIndex_v2, &nvmlDeviceGetName, &nvmlDeviceGetMemoryInfo,
                    &nvmlDeviceGetMemoryInfo_v2, &nvmlDeviceGetUtilizationRates,
                    &nvmlDeviceGetComputeRunningProcesses_v3});
}

#define NVS_NVML(name) find<decltype(::name)>(#name, library())
int by_dlsym() {
  return print_all({NVS_NVML(nvmlInit_v2), NVS_NVML(nvmlShutdown), NVS_NVML(nvmlDeviceGetCount_v2),
                    NVS_NVML(nvmlDeviceGetHandleByIndex_v2), NVS_NVML(nvmlDeviceGetName),
                    NVS_NVML(nvmlDeviceGetMemoryInfo), NVS_NVML(nvmlDeviceGetMemoryInfo_v2),
                    NVS_NVML(nvmlDeviceGetUtilizationRates),
                    NVS_NVML(nvmlDeviceGetComputeRunningProcesses_v3)});
}

constexpr Case kCases[] = {{"link", by_link}, {"dlsym", by_dlsym}};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
