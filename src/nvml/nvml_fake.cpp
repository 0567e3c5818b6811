// SPDX-License-Identifier: Apache-2.0
// A FakeNvml that tests load instead of a driver's. It has three GPUs, of which the second stands
// first on the bus. NVSHARE_FAKE_NVML holds words for what is to be different, the file that
// NVSHARE_FAKE_NVML_LOST names the numbers of GPUs that are lost just now, and it counts in
// NVSHARE_FAKE_NVML_OPEN how often it was initialised and not shut down. Built with
// NVS_FAKE_NVML_OLD it exports only what the first versions of NVML had.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cuda_api/nvml.h"

namespace {

constexpr unsigned kGpus = 3;
constexpr unsigned long long kGiB = 1ULL << 30U;

bool is_set(const char* word) {
  const char* words = std::getenv("NVSHARE_FAKE_NVML");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

bool is_lost(unsigned number) {
  if (number == 2 && is_set("lost_gpu")) return true;
  const char* path = std::getenv("NVSHARE_FAKE_NVML_LOST");
  std::ifstream file(path == nullptr ? "" : path);
  for (unsigned lost = 0; file >> lost;) {
    if (lost == number) return true;
  }
  return false;
}

void count_open(int change) {
  const char* before = std::getenv("NVSHARE_FAKE_NVML_OPEN");
  const int now = (before != nullptr ? std::atoi(before) : 0) + change;
  ::setenv("NVSHARE_FAKE_NVML_OPEN", std::to_string(now).c_str(), 1);
}

// A GPU is the address of its number; an instance of GPU 1 that of a larger one.
struct Devices {
  std::array<unsigned, 16> numbers{};
  Devices() {
    for (unsigned index = 0; index < numbers.size(); ++index) numbers[index] = index;
  }
};
Devices devices;

nvmlDevice_t device_of(unsigned number) {
  return reinterpret_cast<nvmlDevice_t>(&devices.numbers.at(number));
}
unsigned number_of(nvmlDevice_t device) { return *reinterpret_cast<unsigned*>(device); }

void print_uuid(nvmlDevice_t device, char* uuid, unsigned length) {
  const unsigned number = number_of(device);
  if (number < kGpus)
    std::snprintf(uuid, length, "GPU-0000000%u-1122-3344-5566-778899aabbcc", number);
  else if (is_set("old_instance_names"))
    std::snprintf(uuid, length, "MIG-GPU-00000001-1122-3344-5566-778899aabbcc/%u/0", number);
  else
    std::snprintf(uuid, length, "MIG-000000%02u-1122-3344-5566-778899aabbcc", number);
}

nvmlReturn_t init() {
  if (is_set("init_fails")) return NVML_ERROR_DRIVER_NOT_LOADED;
  count_open(1);
  return NVML_SUCCESS;
}

// What is free on every GPU: 15 GiB, or what the file says that NVSHARE_FAKE_NVML_FREE names.
unsigned long long free_bytes() {
  unsigned long long bytes = 15 * kGiB;
  const char* path = std::getenv("NVSHARE_FAKE_NVML_FREE");
  if (path != nullptr) std::ifstream(path) >> bytes;
  return bytes;
}

nvmlReturn_t tell_count(unsigned* count) {
  *count = is_set("no_gpus") ? 0 : kGpus;
  return is_set("count_fails") ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

nvmlReturn_t find_gpu(unsigned index, nvmlDevice_t* device) {
  if (index >= kGpus) return NVML_ERROR_INVALID_ARGUMENT;
  if (is_lost(index)) return NVML_ERROR_GPU_IS_LOST;
  *device = device_of(index);
  return NVML_SUCCESS;
}

nvmlReturn_t tell_pci(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  constexpr std::array<unsigned, kGpus> kBuses = {0x41, 0x17, 0xb3};
  pci->domain = 0;
  pci->bus = kBuses.at(number_of(device));
  pci->device = 0;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlInit() { return init(); }
nvmlReturn_t nvmlShutdown() {
  count_open(-1);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return tell_count(count); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return find_gpu(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  for (unsigned index = 0; index < kGpus; ++index) {
    std::array<char, 64> own{};
    print_uuid(device_of(index), own.data(), own.size());
    if (std::strcmp(own.data(), uuid) == 0) return find_gpu(index, device);
  }
  return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return tell_pci(device, pci);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  if (is_lost(number_of(device))) return NVML_ERROR_GPU_IS_LOST;
  if (is_set("bad_uuid") && number_of(device) == 0) {
    std::snprintf(uuid, length, "GPU-unknown");
    return NVML_SUCCESS;
  }
  print_uuid(device, uuid, length);
  return NVML_SUCCESS;
}
// Drivers do not promise that it is the index.
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) {
  *number = 4 + number_of(device);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  const unsigned number = number_of(device);
  std::snprintf(name, length, number < kGpus ? "Fake %u" : "Fake %u MIG 1g.5gb", number);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  if (is_lost(number_of(device))) return NVML_ERROR_GPU_IS_LOST;
  if (is_set("no_memory")) return NVML_ERROR_NOT_SUPPORTED;
  *memory = {.total = 16 * kGiB, .free = free_bytes(), .used = 16 * kGiB - free_bytes()};
  return NVML_SUCCESS;
}

#ifndef NVS_FAKE_NVML_OLD
nvmlReturn_t nvmlInit_v2() { return init(); }
const char* nvmlErrorString(nvmlReturn_t result) {
  return result == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Fake Error";
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t /*device*/, nvmlMemory_v2_t* memory) {
  if (is_set("no_memory") || is_set("no_new_memory")) return NVML_ERROR_NOT_SUPPORTED;
  if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  memory->total = 16 * kGiB;
  memory->reserved = kGiB;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* now, unsigned* pending) {
  *now = *pending = is_set("mig") && number_of(device) == 1 ? 1 : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t /*device*/, unsigned* count) {
  *count = 7;
  return NVML_SUCCESS;
}
// The first and the third of seven are made.
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* instance) {
  if (number_of(device) != 1 || (index != 0 && index != 2) || is_set("no_instances"))
    return NVML_ERROR_NOT_FOUND;
  *instance = device_of(8 + index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id) {
  if (number_of(device) < kGpus) return NVML_ERROR_INVALID_ARGUMENT;
  *id = number_of(device) - 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id) {
  if (number_of(device) < kGpus) return NVML_ERROR_INVALID_ARGUMENT;
  *id = number_of(device) % 8;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* infos) {
  const bool has = is_set("mps_client") && number_of(device) == 0;
  if (has) infos[0].pid = 1;
  *count = has ? 1 : 0;
  return NVML_SUCCESS;
}
#endif
