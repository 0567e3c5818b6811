// SPDX-License-Identifier: Apache-2.0
// Where the build has put what a benchmark starts or preloads: the library, the daemon and helpers
// lie beside this program, whatever the folder is called.
#pragma once

#include <filesystem>
#include <string>

namespace nvs::bench {

// A file of the build by its path below the build folder, as "lib/libnvshare.so".
std::filesystem::path built(const char* name);

// The whole path of a file, links resolved. Throws Failure, which calls it `what`, if it is not
// there.
std::string existing(const std::filesystem::path& path, const std::string& what);

// The libnvshare.so to measure: the one that was asked for, else that of $NVSHARE_LIBRARY, else the
// one built with this program.
std::string find_library(const std::string& asked);

// A variable of the environment; empty if it is not set.
std::string value_of(const char* variable);

}  // namespace nvs::bench
