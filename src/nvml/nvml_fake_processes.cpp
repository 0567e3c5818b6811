// SPDX-License-Identifier: Apache-2.0
// The processes of FakeNvml: each line `GPU PID BYTES` of the file NVSHARE_FAKE_NVML_PROCESSES is
// one; BYTES of -1 are not known. Without the file GPU 2 has a hundred, of which the last is this
// one. Words in NVSHARE_FAKE_NVML: `no_v3` and `no_v2` are not supported, `no_permission` is what
// all of them say, and with `large_structs` _v3 fills those of the first drivers of 535.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <unistd.h>

#include "cuda_api/nvml.h"

namespace {

struct FakeProcess {
  unsigned pid = 0;
  long long bytes = -1;
};

std::vector<FakeProcess> processes_of(nvmlDevice_t device) {
  const unsigned number = *reinterpret_cast<unsigned*>(device);
  std::vector<FakeProcess> found;
  const char* path = std::getenv("NVSHARE_FAKE_NVML_PROCESSES");
  if (path == nullptr) {
    constexpr unsigned kProcesses = 100;
    if (number == 2) found.resize(kProcesses);
    if (number == 2) found.back().pid = static_cast<unsigned>(::getpid());
    return found;
  }
  std::ifstream file(path);
  unsigned gpu = 0;
  for (FakeProcess process; file >> gpu >> process.pid >> process.bytes;) {
    if (gpu == number) found.push_back(process);
  }
  return found;
}

bool is_asked_for(const char* word) {
  const char* words = std::getenv("NVSHARE_FAKE_NVML");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

// As NVML does: the whole struct, whatever of it is known.
template <class Info>
nvmlReturn_t fill(nvmlDevice_t device, unsigned* count, Info* infos) {
  if (is_asked_for("no_permission")) return NVML_ERROR_NO_PERMISSION;
  const std::vector<FakeProcess> processes = processes_of(device);
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (const FakeProcess& process : processes) {
    std::memset(infos, 0, sizeof *infos);
    infos->pid = process.pid;
    infos->usedGpuMemory = static_cast<unsigned long long>(process.bytes);
    ++infos;
  }
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return fill(device, count, infos);
}

#ifndef NVS_FAKE_NVML_OLD
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  if (is_asked_for("no_v2")) return NVML_ERROR_NOT_SUPPORTED;
  return fill(device, count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  if (is_asked_for("no_v3")) return NVML_ERROR_NOT_SUPPORTED;
  if (is_asked_for("large_structs"))
    return fill(device, count, reinterpret_cast<nvmlProcessDetail_v1_t*>(infos));
  return fill(device, count, infos);
}
#endif
