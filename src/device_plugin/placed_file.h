// SPDX-License-Identifier: Apache-2.0
// Which file is at a path: another kubelet has another socket there, and another plugin's labels
// may have taken the place of ours.
#pragma once

#include <cstdint>
#include <string>

namespace nvs::plugin {

// The inode alone would not do: a file that is gone leaves its number to others. Nothing: none.
struct PlacedFile {
  std::uint64_t inode = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const PlacedFile&) const = default;
};
PlacedFile file_at(const std::string& path);

}  // namespace nvs::plugin
