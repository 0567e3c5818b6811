// SPDX-License-Identifier: Apache-2.0
// A file for people that is there as a whole or not at all: one that was there before is lost only
// to one that is complete.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nvs::cli {

// What is no ordinary file (a device, a pipe) is written to as it is, and so is one in a folder
// where nothing can be made. A symbolic link stays, and what it names is written.
Result<void> write_output_file(const std::string& path, std::string_view text);

}  // namespace nvs::cli
