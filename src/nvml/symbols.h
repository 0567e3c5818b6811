// SPDX-License-Identifier: Apache-2.0
// Functions of a library that may be older than we are: found by name, tried from the newest on.
#pragma once

#include <initializer_list>

#include <dlfcn.h>

#include "cuda_api/nvml_types.h"

namespace nvs {

template <class Function>
Function* symbol_of(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(::dlsym(library, symbol));
}

// The result of the first of `symbols` that the library has and that this driver supports.
template <class Function, class... Arguments>
nvmlReturn_t first_of(void* library, std::initializer_list<const char*> symbols,
                      Arguments... arguments) {
  nvmlReturn_t result = NVML_ERROR_FUNCTION_NOT_FOUND;
  for (const char* symbol : symbols) {
    auto* function = symbol_of<Function>(library, symbol);
    if (function == nullptr) continue;
    result = function(arguments...);
    if (result != NVML_ERROR_NOT_SUPPORTED && result != NVML_ERROR_FUNCTION_NOT_FOUND) break;
  }
  return result;
}

}  // namespace nvs
