// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/api/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "cuda_sim/config/gpu_identity.h"

namespace nvs::sim {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The only GPU whose UUID begins so.
std::optional<unsigned> by_uuid(const Machine& machine, std::string_view prefix) {
  std::optional<unsigned> found;
  for (unsigned gpu = 0; gpu < machine.gpus(); ++gpu) {
    if (!uuid_text(gpu_uuid(machine.model().preset, gpu)).starts_with(prefix)) continue;
    if (found) return std::nullopt;
    found = gpu;
  }
  return found;
}

std::optional<unsigned> by_index(const Machine& machine, std::string_view text) {
  unsigned gpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpu);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return gpu < machine.gpus() ? std::optional{gpu} : std::nullopt;
}

}  // namespace

// The first entry that names no GPU ends the list. Measured on an H200: one that names a GPU again
// is an error.
CUresult visible_devices(const Machine& machine, const char* wanted, std::vector<unsigned>& out) {
  out.clear();
  if (wanted == nullptr) {
    for (unsigned gpu = 0; gpu < machine.gpus(); ++gpu) out.push_back(gpu);
    return CUDA_SUCCESS;
  }
  std::string_view rest{wanted};
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto gpu = entry.starts_with("GPU-") ? by_uuid(machine, entry) : by_index(machine, entry);
    if (!gpu) break;
    if (std::find(out.begin(), out.end(), *gpu) != out.end()) return CUDA_ERROR_INVALID_DEVICE;
    out.push_back(*gpu);
  }
  return out.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

}  // namespace nvs::sim
