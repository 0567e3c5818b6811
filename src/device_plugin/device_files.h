// SPDX-License-Identifier: Apache-2.0
// The files in /dev by which programs reach a GPU, for settings by which the kubelet is to allow
// them (passDeviceSpecs): where it sets a container's cgroup anew, as its CPU manager does, it
// takes away what a runtime has allowed by itself.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "nvml/gpus.h"

namespace nvs::plugin {

// Of all GPUs; each is passed if it is there.
inline constexpr std::array<const char*, 4> kControlFiles = {
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

// Of these, what every CUDA program needs.
inline constexpr std::array<const char*, 2> kNeededFiles = {"/dev/nvidiactl", "/dev/nvidia-uvm"};

// What the driver calls the rights to use MIG instances, and their numbers.
inline constexpr const char* kMigMinorsPath = "/proc/driver/nvidia-caps/mig-minors";

// Those of one GPU, or of an instance: its GPU and two rights, by the text of the file above. None
// if not all are known.
std::vector<std::string> device_files_of(const Gpu& gpu, std::string_view mig_minors);

}  // namespace nvs::plugin
