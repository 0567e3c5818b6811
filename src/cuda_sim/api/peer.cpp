// SPDX-License-Identifier: Apache-2.0
// Entry points: access from one device's context to the memory of another.
#include "cuda_sim/api/call.h"
#include "cuda_sim/objects/plain_memory.h"

using namespace nvs::sim;

namespace {

// Access is written down by GPUs, and other contexts of the same one may have it too.
bool may_any_access(Driver& driver, unsigned from, unsigned to) {
  for (const auto& [handle, context] : driver.contexts.all()) {
    if (!context->destroyed && context->gpu == from && context->peers[to]) return true;
  }
  return false;
}

}  // namespace

NVS_SIM(cuCtxEnablePeerAccess, (CUcontext peer_handle, unsigned int flags), peer_handle, flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const auto peer = d.contexts.find(peer_handle);
  if (!peer || peer->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  if (peer->gpu == context->gpu) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (context->peers[peer->gpu]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  context->peers[peer->gpu] = true;
  set_peer_access(d, *peer, context->gpu, Access::read_write);
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxDisablePeerAccess, (CUcontext peer_handle), peer_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const auto peer = d.contexts.find(peer_handle);
  if (!peer || peer->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->peers[peer->gpu]) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  context->peers[peer->gpu] = false;
  if (may_any_access(d, context->gpu, peer->gpu)) return CUDA_SUCCESS;
  set_peer_access(d, *peer, context->gpu, Access::none);
  return CUDA_SUCCESS;
}
