// SPDX-License-Identifier: Apache-2.0
// How NVML hands out text: whole, or not at all where the caller's buffer is too small.
#pragma once

#include <string_view>

#include "cuda_api/nvml_types.h"

namespace nvs::nvml {

inline nvmlReturn_t copy_text(std::string_view text, char* buffer, unsigned length) {
  if (text.size() >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  buffer[text.copy(buffer, text.size())] = '\0';
  return NVML_SUCCESS;
}

}  // namespace nvs::nvml
