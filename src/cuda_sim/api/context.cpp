// SPDX-License-Identifier: Apache-2.0
// Entry points: contexts and which of them is current.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/context_rules.h"

using namespace nvs::sim;

namespace {

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  if (!valid_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  // Measured on an H200: one kind of core dump is reported as the other.
  if ((flags & CU_CTX_USER_COREDUMP_ENABLE) != 0) {
    flags = (flags & ~unsigned{CU_CTX_USER_COREDUMP_ENABLE}) | CU_CTX_COREDUMP_ENABLE;
  }
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  if (const CUresult result = d.make_context(*gpu, flags, false, context); result != CUDA_SUCCESS) {
    return result;
  }
  context_stack().push_back(context->handle);
  *out = context->handle;
  return CUDA_SUCCESS;
}

CUresult destroy(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  const auto context = d.contexts.find(handle);
  if (!context || context->destroyed || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  d.destroy_context(*context);
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
  return CUDA_SUCCESS;
}

// Measured on an H200: a context that is destroyed can still be made current; using it then fails.
CUresult push(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (!d.contexts.find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack().push_back(handle);
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* out) {
  auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult synchronize(Driver& d, std::unique_lock<std::mutex>& guard, Context& context) {
  for (const auto& capture : d.captures) {
    if (capture->origin->context == &context) return invalidate(*capture);
  }
  context.engine->wait_all(guard);
  const std::vector<ValueWaiter> waiters = context.value_waiters;
  for (const ValueWaiter& waiter : waiters) waiter.engine->wait(guard, waiter.last);
  trim_pools(d);
  return context.sticky;
}

}  // namespace

NVS_SIM(cuCtxCreate_v2, (CUcontext * out, unsigned int flags, CUdevice device), out, flags,
        device) {
  return create(out, flags, device);
}

NVS_SIM(cuCtxCreate_v3,
        (CUcontext * out, CUexecAffinityParam* params, int count, unsigned int flags,
         CUdevice device),
        out, params, count, flags, device) {
  if (params != nullptr || count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(out, flags, device);
}

NVS_SIM(cuCtxCreate_v4,
        (CUcontext * out, CUctxCreateParams* params, unsigned int flags, CUdevice device), out,
        params, flags, device) {
  if (params != nullptr &&
      (params->execAffinityParams != nullptr || params->cigParams != nullptr)) {
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  return create(out, flags, device);
}

NVS_SIM(cuCtxCreate, (CUcontext * out, unsigned int flags, CUdevice device), out, flags, device) {
  return create(out, flags, device);
}

NVS_SIM(cuCtxDestroy, (CUcontext handle), handle) { return destroy(handle); }

NVS_SIM(cuCtxPushCurrent, (CUcontext handle), handle) { return push(handle); }

NVS_SIM(cuCtxPopCurrent, (CUcontext * out), out) { return pop(out); }

// What contexts were shared with before there were primary ones: a count that starts at one.
NVS_SIM(cuCtxAttach, (CUcontext * out, unsigned int flags), out, flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  ++context->attachments;
  *out = context->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxDetach, (CUcontext handle), handle) {
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    NVS_SIM_CONTEXT(context)
    if (context->handle != handle) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->attachments > 1) {
      --context->attachments;
      return CUDA_SUCCESS;
    }
  }
  return destroy(handle);
}

NVS_SIM(cuCtxDestroy_v2, (CUcontext handle), handle) { return destroy(handle); }

NVS_SIM(cuCtxPushCurrent_v2, (CUcontext handle), handle) { return push(handle); }

NVS_SIM(cuCtxPopCurrent_v2, (CUcontext * out), out) { return pop(out); }

NVS_SIM(cuCtxSetCurrent, (CUcontext handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  auto& stack = context_stack();
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  if (!d.contexts.find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) {
    stack.push_back(handle);
  } else {
    stack.back() = handle;
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetCurrent, (CUcontext * out), out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = context_stack();
  *out = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetDevice, (CUdevice * device), device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  const CUresult result = context_in_any_state(d, context);
  if (result == CUDA_SUCCESS) *device = d.device_of(context->gpu);
  return result;
}

NVS_SIM(cuCtxGetDevice_v2, (CUdevice * device, CUcontext handle), device, handle) {
  if (handle == nullptr) return cuCtxGetDevice(device);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto context = d.contexts.find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *device = d.device_of(context->gpu);
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxSynchronize, (), ) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_CONTEXT(context)
  return synchronize(d, guard, *context);
}

NVS_SIM(cuCtxSynchronize_v2, (CUcontext handle), handle) {
  if (handle == nullptr) return cuCtxSynchronize();
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  const auto context = d.contexts.find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return synchronize(d, guard, *context);
}
