// SPDX-License-Identifier: Apache-2.0
// The PTX of the workloads' kernels, embedded into the program, so that a binary needs no file
// beside it and no toolkit to build.
#pragma once

namespace nvs::workloads::kernels {

// Text that ends in a zero byte, as cuModuleLoadData wants it.
const char* ptx();

}  // namespace nvs::workloads::kernels
