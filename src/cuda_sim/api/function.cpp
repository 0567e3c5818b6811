// SPDX-License-Identifier: Apache-2.0
// Entry points: what can be asked of a function and set for it, and how many of its blocks fit.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/function_rules.h"

using namespace nvs::sim;

namespace nvs::sim {

CUresult get_function_attribute(const Function& function, CUfunction_attribute attribute,
                                int* value) {
  const Model& model = driver().machine->model();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = kRegisters;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = 75;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = model.capability_major * 10 + model.capability_minor;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function.max_dynamic_shared;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = function.carveout;
      return CUDA_SUCCESS;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;
      return CUDA_SUCCESS;
  }
}

CUresult set_function_attribute(Function& function, CUfunction_attribute attribute, int value) {
  const Model& model = driver().machine->model();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > model.shared_per_block_optin) return CUDA_ERROR_INVALID_VALUE;
      function.max_dynamic_shared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      function.carveout = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult parameter_info(const Function& function, std::size_t index, std::size_t* offset,
                        std::size_t* size) {
  const auto& parameters = function.entry->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (size != nullptr) *size = parameters[index].size;
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim

namespace {

constexpr int kSharedReservedPerBlock = 1024;

// Limited by threads, registers and shared memory, whichever is used up first.
int blocks_per_multiprocessor(int block_size, std::size_t shared) {
  const Model& model = driver().machine->model();
  const int warps = (block_size + 31) / 32;
  const int by_threads = model.threads_per_multiprocessor / (warps * 32);
  const int by_registers = 65536 / (kRegisters * warps * 32);
  const auto per_block = static_cast<int>(shared) + kSharedReservedPerBlock;
  const int by_shared = model.shared_per_multiprocessor / per_block;
  return std::min({by_threads, by_registers, by_shared, 32});
}

CUresult occupancy(int* blocks, CUfunction handle, int block_size, std::size_t shared) {
  if (blocks == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (!d.functions.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = block_size > 1024 ? 0 : blocks_per_multiprocessor(block_size, shared);
  return CUDA_SUCCESS;
}

CUresult potential(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_for,
                   std::size_t shared, int limit) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    NVS_SIM_CONTEXT(context)
    if (!d.functions.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
  }
  int best_threads = 0;
  const int largest = limit > 0 ? std::min(limit, 1024) : 1024;
  for (int size = largest; size > 0; size -= size % 32 == 0 ? 32 : size % 32) {
    const std::size_t bytes = shared_for != nullptr ? shared_for(size) : shared;
    const int blocks = blocks_per_multiprocessor(size, bytes);
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    *block = size;
    *grid = blocks * d.machine->model().multiprocessors;
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuFuncGetAttribute, (int* value, CUfunction_attribute attribute, CUfunction handle), value,
        attribute, handle) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  return get_function_attribute(*function, attribute, value);
}

NVS_SIM(cuFuncSetAttribute, (CUfunction handle, CUfunction_attribute attribute, int value), handle,
        attribute, value) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  return set_function_attribute(*function, attribute, value);
}

NVS_SIM(cuFuncSetCacheConfig, (CUfunction handle, CUfunc_cache config), handle, config) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (!d.functions.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
  if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

NVS_SIM(cuFuncGetName, (const char** name, CUfunction handle), name, handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  *name = function->entry->name.c_str();
  return CUDA_SUCCESS;
}

NVS_SIM(cuFuncGetModule, (CUmodule * out, CUfunction handle), out, handle) {
  if (out == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  if (!function || function->module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *out = function->module->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuFuncGetParamInfo, (CUfunction handle, size_t index, size_t* offset, size_t* size), handle,
        index, offset, size) {
  if (offset == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto function = d.functions.find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  return parameter_info(*function, index, offset, size);
}

NVS_SIM(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction handle), state, handle) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (!d.functions.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

NVS_SIM(cuFuncLoad, (CUfunction handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  return d.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

NVS_SIM(cuOccupancyMaxActiveBlocksPerMultiprocessor,
        (int* blocks, CUfunction handle, int block_size, size_t shared), blocks, handle, block_size,
        shared) {
  return occupancy(blocks, handle, block_size, shared);
}

NVS_SIM(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        (int* blocks, CUfunction handle, int block_size, size_t shared, unsigned int flags), blocks,
        handle, block_size, shared, flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return occupancy(blocks, handle, block_size, shared);
}

NVS_SIM(cuOccupancyMaxPotentialBlockSize,
        (int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_for, size_t shared,
         int limit),
        grid, block, handle, shared_for, shared, limit) {
  return potential(grid, block, handle, shared_for, shared, limit);
}

NVS_SIM(cuOccupancyMaxPotentialBlockSizeWithFlags,
        (int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_for, size_t shared,
         int limit, unsigned int flags),
        grid, block, handle, shared_for, shared, limit, flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return potential(grid, block, handle, shared_for, shared, limit);
}

// What each of so many blocks could have at most, and no more than the function may ask for.
NVS_SIM(cuOccupancyAvailableDynamicSMemPerBlock,
        (size_t * bytes, CUfunction handle, int blocks, int block_size), bytes, handle, blocks,
        block_size) {
  if (bytes == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const auto function = d.functions.find(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (blocks_per_multiprocessor(block_size, 0) < blocks) return CUDA_ERROR_INVALID_VALUE;
  const int share = d.machine->model().shared_per_multiprocessor / blocks - kSharedReservedPerBlock;
  *bytes = static_cast<std::size_t>(std::min(share, function->max_dynamic_shared));
  return CUDA_SUCCESS;
}
