// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/call_target.h"

#include "interposer/exports/in_context.h"
#include "interposer/exports/real.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::gate {
namespace {

int current_gpu() {
  const auto ask = real<Row::cuCtxGetDevice>();
  CUdevice device = -1;
  if (ask == nullptr || ask(&device) != CUDA_SUCCESS) return -1;
  return device < kGpusMax ? device : -1;
}

// A stream of a context that is not current: the work goes where the stream is.
CUcontext other_context(const Call& call) {
  const auto ask = real<Row::cuStreamGetCtx>();
  const auto ask_current = real<Row::cuCtxGetCurrent>();
  CUcontext of_stream = nullptr;
  CUcontext current = nullptr;
  if (!call.on_stream || ask == nullptr || ask_current == nullptr) return nullptr;
  if (ask(call.stream, &of_stream) != CUDA_SUCCESS) return nullptr;
  if (ask_current(&current) != CUDA_SUCCESS || of_stream == current) return nullptr;
  return of_stream;
}

}  // namespace

// The driver knows green contexts too.
int gpu_of(CUcontext context) {
  const int known = contexts::gpu_of(context);
  if (known >= 0) return known < kGpusMax ? known : -1;
  const InContext current(context);
  return current.is_set() ? current_gpu() : -1;
}

bool is_captured(CUstream stream) {
  const auto ask = real<Row::cuStreamIsCapturing>();
  if (ask == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The default stream beside a capture is an error, which the call itself will meet as well.
  return ask(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Target target_of(const Call& call) {
  const bool captured = call.on_stream && is_captured(call.stream);
  const bool asks = !captured || several.load(std::memory_order_relaxed) != 0;
  if (!asks) return {true, -1};
  const CUcontext other = other_context(call);
  return {captured, other != nullptr ? gpu_of(other) : current_gpu()};
}

// The driver is not asked: it does not look at all of them.
std::uint32_t gpus_named_by(const Call& call) {
  if (call.on_all_gpus) return kAllGpus;
  std::uint32_t gpus = 0;
  for (const CUcontext context : call.contexts) {
    if (context == nullptr) continue;
    const int gpu = contexts::gpu_of(context);
    if (gpu < 0 || gpu >= kGpusMax) return kAllGpus;
    gpus |= 1U << gpu;
  }
  return gpus;
}

}  // namespace nvs::interposer::gate
