// SPDX-License-Identifier: Apache-2.0
// The driver's events that marks are made of.
#pragma once

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::flow {

struct Event {
  CUevent event;
  CUcontext context;  // null: gone, with its context
};

bool create_event(CUcontext context, Event& event);

// Of a stream, or of the calling thread where that has none; null: the driver says neither.
CUcontext context_of(CUstream stream);

}  // namespace nvs::interposer::flow
