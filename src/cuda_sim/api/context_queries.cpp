// SPDX-License-Identifier: Apache-2.0
// Entry points: the flags, identity and version of a context.
#include "cuda_sim/api/call.h"
#include "cuda_sim/api/context_rules.h"

using namespace nvs::sim;

NVS_SIM(cuCtxGetFlags, (unsigned int* flags), flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  const CUresult result = context_in_any_state(d, context);
  // Measured on an H200: only a primary context says that it maps host memory, though all do.
  if (result == CUDA_SUCCESS) {
    *flags = context->flags | (context->primary ? unsigned{CU_CTX_MAP_HOST} : 0);
  }
  return result;
}

NVS_SIM(cuCtxSetFlags, (unsigned int flags), flags) {
  if (!valid_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  context->flags = flags & ~unsigned{CU_CTX_MAP_HOST};
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetId, (CUcontext handle, unsigned long long* id), handle, id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (handle == nullptr) {
    NVS_SIM_CONTEXT(context)
    *id = context->id;
    return CUDA_SUCCESS;
  }
  const auto context = d.contexts.find(handle);
  if (!context || context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetApiVersion, (CUcontext handle, unsigned int* version), handle, version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (handle == nullptr) {
    NVS_SIM_CONTEXT(context)
  } else if (const auto context = d.contexts.find(handle); !context || context->destroyed) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *version = 3020;
  return CUDA_SUCCESS;
}
