// SPDX-License-Identifier: Apache-2.0
// Each stub takes so many bytes, so that its row is found from its address; read by C++ and
// assembly.
#pragma once

#if defined(__aarch64__)
#define NVS_STUB_SIZE 32
#else
#define NVS_STUB_SIZE 16
#endif
