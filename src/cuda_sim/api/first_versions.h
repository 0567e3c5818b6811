// SPDX-License-Identifier: Apache-2.0
// The memory calls of CUDA 3.1 and before, whose addresses have 32 bits. The driver still exports
// them, and they answer that a context of today is none of theirs.
#pragma once

namespace nvs::sim {

/// What a call of the first version returns, as a CUresult.
int answer_first_version(const char* symbol);

}  // namespace nvs::sim
