// SPDX-License-Identifier: Apache-2.0
#include "nvml/nvml.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <dlfcn.h>

#include "cuda_api/nvml.h"
#include "nvml/symbols.h"

namespace nvs {
namespace {

// A library that counts more is not to be believed.
constexpr unsigned kGpusMax = 1024;
constexpr unsigned kInstancesMax = 64;

// What NVML wrote into a buffer, whether or not it ended it.
template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& buffer) {
  return {buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0')};
}

}  // namespace

const char* nvml_path() {
  const char* named = std::getenv("NVSHARE_NVML");
  return named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
}

void Nvml::Close::operator()(void* library) const {
  if (auto* shutdown = symbol_of<decltype(nvmlShutdown)>(library, "nvmlShutdown")) shutdown();
  ::dlclose(library);
}

template <class Function>
Function* Nvml::find(const char* symbol) const {
  return symbol_of<Function>(library_.get(), symbol);
}

std::string Nvml::words(nvmlReturn_t result) const {
  if (auto* error_string = find<decltype(nvmlErrorString)>("nvmlErrorString")) {
    if (const char* text = error_string(result)) return text;
  }
  return "error " + std::to_string(static_cast<int>(result));
}

NvmlResult<Nvml> Nvml::open(const char* path) {
  void* opened = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* why = ::dlerror();
    std::string_view text = why != nullptr ? why : "it cannot be opened";
    // Callers name the library, as they do for all errors; this one does so itself.
    const std::string name = std::string(path) + ": ";
    if (text.starts_with(name)) text.remove_prefix(name.size());
    return tl::unexpected(std::string(text));
  }
  Nvml nvml{Library(opened)};
  const nvmlReturn_t result =
      first_of<decltype(nvmlInit)>(nvml.library_.get(), {"nvmlInit_v2", "nvmlInit"});
  if (result != NVML_SUCCESS) {
    // What was not initialised must not be shut down.
    std::string why = nvml.words(result);
    ::dlclose(nvml.library_.release());
    return tl::unexpected("it cannot be initialised: " + why);
  }
  return nvml;
}

NvmlResult<unsigned> Nvml::count() const {
  unsigned count = 0;
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetCount)>(
      library_.get(), {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, &count);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return std::min(count, kGpusMax);
}

NvmlResult<nvmlDevice_t> Nvml::gpu(unsigned index) const {
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetHandleByIndex)>(
      library_.get(), {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, index,
      &device);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return device;
}

NvmlResult<nvmlDevice_t> Nvml::gpu_of(const std::string& uuid) const {
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetHandleByUUID)>(
      library_.get(), {"nvmlDeviceGetHandleByUUID"}, uuid.c_str(), &device);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return device;
}

NvmlResult<std::string> Nvml::uuid(nvmlDevice_t device) const {
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> buffer{};
  const nvmlReturn_t result =
      first_of<decltype(nvmlDeviceGetUUID)>(library_.get(), {"nvmlDeviceGetUUID"}, device,
                                            buffer.data(), static_cast<unsigned>(buffer.size()));
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return text_of(buffer);
}

NvmlResult<std::string> Nvml::name(nvmlDevice_t device) const {
  std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> buffer{};
  const nvmlReturn_t result =
      first_of<decltype(nvmlDeviceGetName)>(library_.get(), {"nvmlDeviceGetName"}, device,
                                            buffer.data(), static_cast<unsigned>(buffer.size()));
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return text_of(buffer);
}

NvmlResult<PciAddress> Nvml::pci(nvmlDevice_t device) const {
  // The versions of the struct grew at their end: what is read here is at the same place in all.
  nvmlPciInfo_t info{};
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetPciInfo)>(
      library_.get(),
      {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}, device,
      &info);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return PciAddress{info.domain, info.bus, info.device};
}

NvmlResult<unsigned> Nvml::minor_number(nvmlDevice_t device) const {
  unsigned number = 0;
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetMinorNumber)>(
      library_.get(), {"nvmlDeviceGetMinorNumber"}, device, &number);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return number;
}

NvmlResult<std::uint64_t> Nvml::memory_bytes(nvmlDevice_t device) const {
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  nvmlReturn_t result = first_of<decltype(nvmlDeviceGetMemoryInfo_v2)>(
      library_.get(), {"nvmlDeviceGetMemoryInfo_v2"}, device, &memory);
  if (result == NVML_SUCCESS) return memory.total - std::min(memory.reserved, memory.total);

  nvmlMemory_t old_memory{};
  result = first_of<decltype(nvmlDeviceGetMemoryInfo)>(library_.get(), {"nvmlDeviceGetMemoryInfo"},
                                                       device, &old_memory);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return old_memory.total;
}

// All versions agree on what is free: only whether what the driver keeps is used they do not.
NvmlResult<std::uint64_t> Nvml::free_bytes(nvmlDevice_t device) const {
  nvmlMemory_t memory{};
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetMemoryInfo)>(
      library_.get(), {"nvmlDeviceGetMemoryInfo"}, device, &memory);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return memory.free;
}

NvmlResult<double> Nvml::busy_part(nvmlDevice_t device) const {
  nvmlUtilization_t use{};
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetUtilizationRates)>(
      library_.get(), {"nvmlDeviceGetUtilizationRates"}, device, &use);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return static_cast<double>(use.gpu) / 100;
}

bool Nvml::in_mig_mode(nvmlDevice_t device) const {
  unsigned now = NVML_DEVICE_MIG_DISABLE;
  unsigned after_reset = NVML_DEVICE_MIG_DISABLE;
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceGetMigMode)>(
      library_.get(), {"nvmlDeviceGetMigMode"}, device, &now, &after_reset);
  return result == NVML_SUCCESS && now == NVML_DEVICE_MIG_ENABLE;
}

std::vector<MigInstance> Nvml::mig_instances(nvmlDevice_t device) const {
  unsigned count = 0;
  if (first_of<decltype(nvmlDeviceGetMaxMigDeviceCount)>(
          library_.get(), {"nvmlDeviceGetMaxMigDeviceCount"}, device, &count) != NVML_SUCCESS)
    return {};
  std::vector<MigInstance> instances;
  for (unsigned index = 0; index < std::min(count, kInstancesMax); ++index) {
    nvmlDevice_t instance = nullptr;
    if (first_of<decltype(nvmlDeviceGetMigDeviceHandleByIndex)>(
            library_.get(), {"nvmlDeviceGetMigDeviceHandleByIndex"}, device, index, &instance) ==
        NVML_SUCCESS)
      instances.push_back({.index = index, .device = instance});
  }
  return instances;
}

NvmlResult<InstanceIds> Nvml::instance_ids(nvmlDevice_t instance) const {
  InstanceIds ids;
  nvmlReturn_t result = first_of<decltype(nvmlDeviceGetGpuInstanceId)>(
      library_.get(), {"nvmlDeviceGetGpuInstanceId"}, instance, &ids.gpu_instance);
  if (result == NVML_SUCCESS) {
    result = first_of<decltype(nvmlDeviceGetComputeInstanceId)>(
        library_.get(), {"nvmlDeviceGetComputeInstanceId"}, instance, &ids.compute_instance);
  }
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return ids;
}

}  // namespace nvs
