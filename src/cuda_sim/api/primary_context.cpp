// SPDX-License-Identifier: Apache-2.0
// Entry points: the primary context of each device, which the runtime API shares.
#include "cuda_sim/api/call.h"
#include "cuda_sim/api/context_rules.h"

using namespace nvs::sim;

namespace {

// The primary context of a device, with the lock held.
PrimaryContext* find_primary(Driver& d, CUdevice device) {
  const auto gpu = d.gpu_of(device);
  return gpu ? &d.primaries[*gpu] : nullptr;
}

// Measured on an H200: the flags go with the context.
void deactivate(Driver& d, PrimaryContext& primary) {
  if (!primary.active()) return;
  d.destroy_context(*primary.context);
  primary.flags = 0;
}

CUresult release(CUdevice device) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  PrimaryContext* primary = find_primary(d, device);
  if (primary == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (primary->references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary->references == 0) deactivate(d, *primary);
  return CUDA_SUCCESS;
}

CUresult reset(CUdevice device) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  PrimaryContext* primary = find_primary(d, device);
  if (primary == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  deactivate(d, *primary);
  return CUDA_SUCCESS;
}

CUresult set_flags(CUdevice device, unsigned flags) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  PrimaryContext* primary = find_primary(d, device);
  if (primary == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  // Measured on an H200: host memory is always mapped, and asking for it is an error.
  if (!valid_context_flags(flags) || (flags & CU_CTX_MAP_HOST) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  primary->flags = flags;
  if (primary->active()) primary->context->flags = flags;
  return CUDA_SUCCESS;
}

// Measured on an H200: a released primary context comes back under its old handle, also where that
// handle is still current.
CUresult activate(Driver& d, PrimaryContext& primary, unsigned gpu) {
  if (primary.active()) return CUDA_SUCCESS;
  if (primary.context) return d.revive_context(*primary.context, primary.flags);
  return d.make_context(gpu, primary.flags, true, primary.context);
}

}  // namespace

NVS_SIM(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice device), out, device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  PrimaryContext* primary = find_primary(d, device);
  if (primary == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (const CUresult result = activate(d, *primary, *d.gpu_of(device)); result != CUDA_SUCCESS) {
    return result;
  }
  ++primary->references;
  *out = primary->context->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuDevicePrimaryCtxRelease, (CUdevice device), device) { return release(device); }
NVS_SIM(cuDevicePrimaryCtxRelease_v2, (CUdevice device), device) { return release(device); }
NVS_SIM(cuDevicePrimaryCtxReset, (CUdevice device), device) { return reset(device); }
NVS_SIM(cuDevicePrimaryCtxReset_v2, (CUdevice device), device) { return reset(device); }

NVS_SIM(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned int flags), device, flags) {
  return set_flags(device, flags);
}
NVS_SIM(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags), device, flags) {
  return set_flags(device, flags);
}

NVS_SIM(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int* flags, int* active), device,
        flags, active) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const PrimaryContext* primary = find_primary(d, device);
  if (primary == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = primary->flags;
  *active = primary->active() ? 1 : 0;
  return CUDA_SUCCESS;
}
