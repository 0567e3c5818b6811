// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "cuda_api/nvml.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace nvs {
namespace {

constexpr unsigned kProcessesAtFirst = 64;
// A library that counts more is not to be believed.
constexpr unsigned kProcessesMax = 65'536;

// What each version fills, from the newest on. What is read here is at the same place in all.
struct ListVersion {
  const char* suffix;
  std::size_t struct_bytes;
};
constexpr std::array<ListVersion, 3> kListVersions = {{{"_v3", sizeof(nvmlProcessInfo_t)},
                                                       {"_v2", sizeof(nvmlProcessInfo_v2_t)},
                                                       {"", sizeof(nvmlProcessInfo_v1_t)}}};
constexpr std::size_t kPidOffset = offsetof(nvmlProcessInfo_v1_t, pid);
constexpr std::size_t kBytesOffset = offsetof(nvmlProcessInfo_v1_t, usedGpuMemory);
static_assert(offsetof(nvmlProcessInfo_t, usedGpuMemory) == kBytesOffset);
static_assert(offsetof(nvmlProcessInfo_v2_t, usedGpuMemory) == kBytesOffset);
static_assert(offsetof(nvmlProcessDetail_v1_t, usedGpuMemory) == kBytesOffset);
// The first drivers of 535 (535.54.03 for one) fill this by the name of _v3. There is room for it.
constexpr std::size_t kStructBytesMax = sizeof(nvmlProcessDetail_v1_t);

// What nothing writes there: amounts and instances are small, or all ones if they are not known.
constexpr std::byte kUntouched{0xa5};

class ProcessBuffer {
 public:
  explicit ProcessBuffer(unsigned room) : bytes_(room * kStructBytesMax, kUntouched) {}

  void* data() { return bytes_.data(); }

  std::vector<ProcessMemory> take(unsigned count, std::size_t struct_bytes) const {
    // It went on behind the end of the structs that it should have filled.
    const bool is_larger =
        std::any_of(bytes_.begin() + static_cast<std::ptrdiff_t>(count * struct_bytes),
                    bytes_.begin() + static_cast<std::ptrdiff_t>(count * kStructBytesMax),
                    [](std::byte byte) { return byte != kUntouched; });
    const std::size_t stride = is_larger ? kStructBytesMax : struct_bytes;
    std::vector<ProcessMemory> processes(count);
    for (std::size_t index = 0; index < count; ++index) {
      unsigned long long used = 0;
      const std::byte* at = bytes_.data() + index * stride;
      std::memcpy(&processes[index].pid, at + kPidOffset, sizeof(unsigned));
      std::memcpy(&used, at + kBytesOffset, sizeof used);
      if (used != static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE))
        processes[index].bytes = used;
    }
    return processes;
  }

 private:
  std::vector<std::byte> bytes_;
};

// On a GPU in MIG mode a process is listed for each instance that it has.
std::vector<ProcessMemory> each_once(std::vector<ProcessMemory> processes) {
  std::sort(processes.begin(), processes.end(),
            [](const ProcessMemory& a, const ProcessMemory& b) { return a.pid < b.pid; });
  std::vector<ProcessMemory> merged;
  for (const ProcessMemory& process : processes) {
    if (merged.empty() || merged.back().pid != process.pid) {
      merged.push_back(process);
    } else if (merged.back().bytes && process.bytes) {
      *merged.back().bytes += *process.bytes;
    } else {
      merged.back().bytes.reset();
    }
  }
  return merged;
}

}  // namespace

NvmlResult<std::vector<ProcessMemory>> Nvml::processes(const char* function,
                                                       nvmlDevice_t device) const {
  using List = nvmlReturn_t(nvmlDevice_t, unsigned*, void*);
  nvmlReturn_t result = NVML_ERROR_FUNCTION_NOT_FOUND;
  for (const ListVersion& version : kListVersions) {
    const std::string symbol = std::string(function) + version.suffix;
    // Processes may start until it is asked again.
    for (unsigned room = kProcessesAtFirst; room <= kProcessesMax;) {
      ProcessBuffer buffer(room);
      unsigned count = room;
      result = first_of<List>(library_.get(), {symbol.c_str()}, device, &count, buffer.data());
      if (result == NVML_SUCCESS)
        return each_once(buffer.take(std::min(count, room), version.struct_bytes));
      if (result != NVML_ERROR_INSUFFICIENT_SIZE) break;
      room = 2 * std::clamp(count, room, kProcessesMax);
    }
    if (result != NVML_ERROR_NOT_SUPPORTED && result != NVML_ERROR_FUNCTION_NOT_FOUND) break;
  }
  return tl::unexpected(words(result));
}

bool Nvml::has_mps_clients(nvmlDevice_t device) const {
  const auto clients = processes("nvmlDeviceGetMPSComputeRunningProcesses", device);
  return clients && !clients->empty();
}

NvmlResult<std::vector<ProcessMemory>> Nvml::compute_processes(nvmlDevice_t device) const {
  return processes("nvmlDeviceGetComputeRunningProcesses", device);
}

}  // namespace nvs
