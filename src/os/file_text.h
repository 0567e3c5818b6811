// SPDX-License-Identifier: Apache-2.0
// A small file as a whole: tokens, certificates, settings.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace nvs::os {

// Errors: those of open and read; kLimit for a file of more than bytes_max. It never waits,
// whatever stands there instead of a file.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

}  // namespace nvs::os
