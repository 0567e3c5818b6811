// SPDX-License-Identifier: Apache-2.0
// Entry points: starting the driver, its version, the names of its errors.
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <fcntl.h>
#include <pthread.h>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/visible_devices.h"

using namespace nvs::sim;

namespace {

void leave_machine() {
  Driver& d = driver();
  // A fork child shares the segment but owns nothing in it.
  if (d.forked || !d.machine) return;
  d.exiting = true;
  d.machine->detach();
}

bool wrong_setting(const char* variable, const std::string& value, const char* rule) {
  std::fprintf(stderr, "cuda_sim: %s=%s: %s\n", variable, value.c_str(), rule);
  return false;
}

bool arm_kernel(const char* variable, const std::string& name, std::string& armed) {
  armed = name;
  if (name.empty() || find_builtin(name) != nullptr) return true;
  return wrong_setting(variable, name, "must be the name of a built-in kernel, such as nvs_add");
}

// What makes memory of that kind; without it the other calls have nothing to work on.
bool leave_out(const std::string& what, FaultInjection& faults) {
  if (what.empty()) return true;
  if (what != "vmm") return wrong_setting("NVSHARE_SIM_WITHOUT", what, "must be vmm, or empty");
  faults.without_vmm = true;
  for (const char* call : {"cuMemAddressReserve", "cuMemCreate", "cuMemGetAllocationGranularity",
                           "cuMemImportFromShareableHandle"}) {
    faults.fail_call(call, 0, std::numeric_limits<unsigned>::max(), CUDA_ERROR_NOT_SUPPORTED);
  }
  return true;
}

bool arm_faults(const Settings& settings, FaultInjection& faults) {
  if (!faults.parse(settings.NVSHARE_SIM_FAIL)) {
    return wrong_setting("NVSHARE_SIM_FAIL", settings.NVSHARE_SIM_FAIL,
                         "must be FUNCTION[@THREAD]:AFTER:TIMES:RESULT, separated by commas");
  }
  return leave_out(settings.NVSHARE_SIM_WITHOUT, faults) &&
         arm_kernel("NVSHARE_SIM_HANG_KERNEL", settings.NVSHARE_SIM_HANG_KERNEL,
                    faults.hang_kernel) &&
         arm_kernel("NVSHARE_SIM_FAULT_KERNEL", settings.NVSHARE_SIM_FAULT_KERNEL,
                    faults.fault_kernel);
}

bool open_calls_file(const std::string& path, int& file) {
  if (path.empty()) return true;
  file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  return file >= 0 || wrong_setting("NVSHARE_SIM_CALLS_FILE", path, "cannot be written");
}

CUresult start(Driver& d) {
  auto settings = read_settings();
  if (!settings) {
    std::fprintf(stderr, "cuda_sim: %s\n", settings.error().c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!arm_faults(*settings, d.faults)) return CUDA_ERROR_INVALID_VALUE;
  if (!open_calls_file(settings->NVSHARE_SIM_CALLS_FILE, d.calls_file)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto machine = Machine::attach(*settings);
  if (!machine) {
    std::fprintf(stderr, "cuda_sim: %s\n", machine.error().c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (const CUresult result = visible_devices(**machine, wanted, d.visible);
      result != CUDA_SUCCESS) {
    return result;
  }
  d.machine = std::move(*machine);
  std::atexit(leave_machine);
  pthread_atfork(nullptr, nullptr, [] { driver().forked = true; });
  d.initialised = true;
  return CUDA_SUCCESS;
}

const char* name_of(CUresult result) {
  switch (result) {
#define NVS_CUDA_RESULT(name, value) \
  case name:                         \
    return #name;
#include "spec/cuda_results.def"
#undef NVS_CUDA_RESULT
  }
  return nullptr;
}

const char* text_of(int result) {
  switch (result) {
#define NVS_CUDA_ERROR_TEXT(value, text) \
  case value:                            \
    return text;
#include "spec/cuda_error_texts.def"
#undef NVS_CUDA_ERROR_TEXT
    default:
      return nullptr;
  }
}

}  // namespace

NVS_SIM_NEEDS(cuInit, Needs::nothing, (unsigned int flags), flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  if (d.forked) return CUDA_ERROR_NOT_INITIALIZED;
  static std::mutex once;
  const std::lock_guard guard{once};
  return d.initialised ? CUDA_SUCCESS : start(d);
}

NVS_SIM_NEEDS(cuDriverGetVersion, Needs::nothing, (int* version), version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

NVS_SIM_NEEDS(cuGetErrorName, Needs::nothing, (CUresult error, const char** text), error, text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(error);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

NVS_SIM_NEEDS(cuGetErrorString, Needs::nothing, (CUresult error, const char** text), error, text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = text_of(error);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
