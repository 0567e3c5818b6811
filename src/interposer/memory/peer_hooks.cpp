// SPDX-License-Identifier: Apache-2.0
// Hooks: who may use whose memory. What the driver grants for its own allocations is granted for
// memory that can be moved too.
#include "interposer/exports/in_context.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/peers.h"

namespace nvs::interposer::memory {
namespace {

swap::PeerContext peer_here() { return {current_context().value, current_device()}; }

swap::PeerContext peer_of(CUcontext context) {
  const InContext current(context);
  return {number_of(context), current.is_set() ? current_device() : kUnknownDevice};
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  const CUresult result = real<Row::cuCtxEnablePeerAccess>()(peerContext, Flags);
  if (result == CUDA_SUCCESS) {
    interposer::swap::peer_enabled(peer_of(peerContext), peer_here());
  }
  return result;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  const CUresult result = real<Row::cuCtxDisablePeerAccess>()(peerContext);
  if (result == CUDA_SUCCESS) {
    interposer::swap::peer_disabled(peer_of(peerContext), peer_here());
  }
  return result;
}

}  // namespace nvs::hooks
