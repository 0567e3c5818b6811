// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/unified/prefetch.h"

#include "interposer/exports/in_context.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::unified {
namespace {

CUresult submit(int gpu, CUdeviceptr address, std::uint64_t bytes, CUstream stream) {
  if (const auto older = real<Row::cuMemPrefetchAsync>()) {
    return older(address, bytes, gpu, stream);
  }
  const auto newer = real<Row::cuMemPrefetchAsync_v2>();
  if (newer == nullptr) return CUDA_ERROR_NOT_FOUND;
  return newer(address, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, gpu}, 0, stream);
}

}  // namespace

Prefetch::Prefetch(int gpu) : gpu_(gpu) {
  for (int i = 0; i < contexts::kContextsMax && index_ < 0; ++i) {
    if (contexts::take(i, gpu, context_, contexts::Use::working)) index_ = i;
  }
  if (index_ < 0) return;
  const InContext current(context_);
  const bool is_made = current.is_set() && real<Row::cuStreamCreate>()(
                                               &stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
  if (!is_made) stream_ = nullptr;
}

Prefetch::~Prefetch() {
  if (index_ < 0) return;
  if (stream_ != nullptr) {
    const InContext current(context_);
    if (current.is_set()) real<Row::cuStreamDestroy_v2>()(stream_);
  }
  contexts::give_back(index_, contexts::Use::working);
}

void Prefetch::bring(std::uint64_t address, std::uint64_t bytes) const {
  if (stream_ == nullptr) return;
  const InContext current(context_);
  if (!current.is_set()) return;
  if (submit(gpu_, address, bytes, stream_) == CUDA_SUCCESS) {
    real<Row::cuStreamSynchronize>()(stream_);
  }
}

}  // namespace nvs::interposer::unified
