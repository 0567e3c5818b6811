// SPDX-License-Identifier: Apache-2.0
// Which GPU each green context is of. The driver tells only of the current context, and a green one
// that is current to another thread cannot be made so: it is remembered from the start.
#pragma once

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::memory {

void green_created(CUgreenCtx green, int device);

// Before the driver's call that destroys it, since another thread may get the handle the moment the
// driver has it back. Where the driver refuses, it is told of again. kUnknownDevice: nobody told.
int take_green(CUgreenCtx green);

void forget_greens_in_child();

}  // namespace nvs::interposer::memory
