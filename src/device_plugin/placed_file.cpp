// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/placed_file.h"

#include <sys/stat.h>

namespace nvs::plugin {

PlacedFile file_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_ino), status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

}  // namespace nvs::plugin
