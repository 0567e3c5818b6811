// SPDX-License-Identifier: Apache-2.0
// NVML's calls about no GPU in particular: starting, stopping, versions, names.
#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"
#include "cuda_sim/nvml/text.h"
#include "cuda_sim/nvml/variant.h"

using nvs::nvml::copy_text;
using nvs::nvml::kVariant;
using nvs::nvml::Library;
using nvs::nvml::with_library;

namespace {

constexpr std::array kErrorTexts = {
    "Success",
    "Uninitialized",
    "Invalid Argument",
    "Not Supported",
    "Insufficient Permissions",
    "Already Initialized",
    "Not Found",
    "Insufficient Size",
    "Insufficient External Power",
    "Driver Not Loaded",
    "Timeout",
    "Interrupt Request Issue",
    "NVML Shared Library Not Found",
    "Function Not Found",
    "Corrupted infoROM",
    "GPU is lost",
    "GPU requires reset",
    "GPU access blocked by the operating system",
    "Driver/library version mismatch",
    "In use by another client",
    "Insufficient Memory",
    "No data",
    "vGPU ECC not supported",
    "Insufficient Resources",
    "Invalid Frequency",
    "Argument version mismatch",
    "Requested functionality has been deprecated",
    "System is not in ready state",
    "No supported GPUs were found",
    "Resource not in correct state to perform requested operation",
    "Reset type is not supported for given device",
};
static_assert(kErrorTexts.size() == NVML_ERROR_RESET_TYPE_NOT_SUPPORTED + 1);

}  // namespace

nvmlReturn_t nvmlInit() { return nvs::nvml::open_library(); }
nvmlReturn_t nvmlInit_v2() { return nvs::nvml::open_library(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int) { return nvs::nvml::open_library(); }
nvmlReturn_t nvmlShutdown() { return nvs::nvml::close_library(); }

const char* nvmlErrorString(nvmlReturn_t result) {
  const auto index = static_cast<std::size_t>(result);
  return index < kErrorTexts.size() ? kErrorTexts[index] : "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return with_library([&](Library&) { return copy_text(kVariant.driver_version, version, length); },
                      version);
}

// The one question that is answered before nvmlInit.
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return copy_text(kVariant.nvml_version, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* cudaDriverVersion) {
  return nvmlSystemGetCudaDriverVersion_v2(cudaDriverVersion);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* cudaDriverVersion) {
  return with_library(
      [&](Library&) {
        *cudaDriverVersion = kVariant.cuda_version;
        return NVML_SUCCESS;
      },
      cudaDriverVersion);
}

// Of any process, whether it uses a GPU or not; cut off where the buffer ends.
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  return with_library(
      [&](Library&) {
        if (length == 0) return NVML_ERROR_INVALID_ARGUMENT;
        std::ifstream file{"/proc/" + std::to_string(pid) + "/cmdline"};
        std::string command;
        if (!std::getline(file, command, '\0')) return NVML_ERROR_NOT_FOUND;
        std::snprintf(name, length, "%s", command.c_str());
        return NVML_SUCCESS;
      },
      name);
}
