// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/device_files.h"

#include <algorithm>

namespace nvs::plugin {
namespace {

// Of a line "gpu0/gi1/access 12" the number, as a file; empty if there is no such line.
std::string right_file(std::string_view mig_minors, const std::string& right) {
  const std::string start = right + "/access ";
  while (!mig_minors.empty()) {
    const std::size_t end = std::min(mig_minors.find('\n'), mig_minors.size());
    const std::string_view line = mig_minors.substr(0, end);
    mig_minors.remove_prefix(std::min(end + 1, mig_minors.size()));
    if (!line.starts_with(start)) continue;
    const std::string_view number = line.substr(start.size());
    const bool is_number = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    if (is_number) return "/dev/nvidia-caps/nvidia-cap" + std::string(number);
  }
  return "";
}

}  // namespace

std::vector<std::string> device_files_of(const Gpu& gpu, std::string_view mig_minors) {
  if (!gpu.minor_number) return {};
  const std::string number = std::to_string(*gpu.minor_number);
  std::vector<std::string> files = {"/dev/nvidia" + number};
  if (!gpu.is_mig) return files;
  if (!gpu.instance) return {};
  const std::string gpu_instance =
      "gpu" + number + "/gi" + std::to_string(gpu.instance->gpu_instance);
  const std::string compute_instance =
      gpu_instance + "/ci" + std::to_string(gpu.instance->compute_instance);
  for (const std::string& right : {gpu_instance, compute_instance}) {
    std::string file = right_file(mig_minors, right);
    if (file.empty()) return {};
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace nvs::plugin
