// SPDX-License-Identifier: Apache-2.0
// Hooks: who may use whose memory. What the driver grants for its own allocations is granted for
// memory that can be moved too.
#include "interposer/exports/in_context.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::memory {
namespace {

swap::PeerContext peer_here() { return {owner_here().value, current_device()}; }

// Of a green context it is the primary one, with which it ends.
swap::PeerContext peer_of(CUcontext context) {
  const InContext current(context);
  if (!current.is_set()) return {number_of(context), kUnknownDevice};
  return peer_here();
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
    const interposer::libc::NoCancel no_cancel;
    interposer::swap::peer_enabled(peer_of(peerContext), peer_here());
  }
  return result;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  const CUresult result = real<Row::cuCtxDisablePeerAccess>()(peerContext);
  if (result == CUDA_SUCCESS) {
    const interposer::libc::NoCancel no_cancel;
    interposer::swap::peer_disabled(peer_of(peerContext), peer_here());
  }
  return result;
}

}  // namespace nvs::hooks
