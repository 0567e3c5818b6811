// SPDX-License-Identifier: Apache-2.0
// Puts the library on the host where containers can have it. Each version has a folder of its own,
// named by its content, which never changes: kubelets remember the paths of a pod's mounts for as
// long as it lives, and its containers may restart at any time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nvs::plugin {

struct InstalledLibrary {
  std::string folder;   // below `root`, such as "lib/0.1.0-0123456789abcdef"
  std::string library;  // "<folder>/libnvshare.so"
  std::string preload;  // "<folder>/ld.so.preload"
};

// Copies `source` below `root`, which is made if need be. A version that is there stays untouched.
Result<InstalledLibrary> install_library(const std::string& source, const std::string& root,
                                         std::string_view version);

// Takes all versions but that one away, and says which. For when no pod has another.
std::vector<std::string> remove_other_versions(const std::string& root,
                                               const InstalledLibrary& kept);

// The whole file at once: whoever looks sees all of it or what was there before. With these
// permissions.
Result<void> write_atomically(const std::string& path, std::string_view text, unsigned mode);

}  // namespace nvs::plugin
