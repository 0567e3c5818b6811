// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/mark_event.h"

#include "interposer/exports/real.h"
#include "interposer/flow/relaxed_capture.h"

namespace nvs::interposer::flow {

bool create_event(CUcontext context, Event& event) {
  const auto create = real<Row::cuEventCreate>();
  const auto push = real<Row::cuCtxPushCurrent_v2>();
  const auto pop = real<Row::cuCtxPopCurrent_v2>();
  if (create == nullptr || push == nullptr || pop == nullptr) return false;
  const RelaxedCapture relaxed;
  CUcontext popped = nullptr;
  if (push(context) != CUDA_SUCCESS) return false;
  // Without a time stamp it costs the GPU nothing; with one, 2 us.
  const bool made = create(&event.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  pop(&popped);
  event.context = context;
  return made;
}

CUcontext context_of(CUstream stream) {
  CUcontext context = nullptr;
  const auto of_stream = real<Row::cuStreamGetCtx>();
  if (of_stream != nullptr && of_stream(stream, &context) == CUDA_SUCCESS) return context;
  const auto current = real<Row::cuCtxGetCurrent>();
  if (current == nullptr || current(&context) != CUDA_SUCCESS) return nullptr;
  return context;
}

}  // namespace nvs::interposer::flow
