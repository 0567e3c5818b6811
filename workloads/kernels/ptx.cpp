// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/ptx.h"

// The build says where the file lies.
__asm__(
    ".pushsection .rodata\n"
    ".local nvs_workloads_ptx\n"
    "nvs_workloads_ptx:\n"
    ".incbin \"" NVS_PTX_FILE
    "\"\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" __attribute__((visibility("hidden"))) const char nvs_workloads_ptx[];

namespace nvs::workloads::kernels {

const char* ptx() { return nvs_workloads_ptx; }

}  // namespace nvs::workloads::kernels
