// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of the fake driver: by name, version and default stream, as a real one answers.
#pragma once

#include "cuda_api/cuda.h"
#include "tests/interposer/fake/behaviour.h"

namespace nvs::fake {

/// The null status is the first version of the call, which has none.
CUresult proc_address(const char* name, void** function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status);

template <>
struct Act<Row::cuGetProcAddress> {
  static CUresult act(const char* name, void** function, int version, cuuint64_t flags) {
    return proc_address(name, function, version, flags, nullptr);
  }
};

template <>
struct Act<Row::cuGetProcAddress_v2> {
  static CUresult act(const char* name, void** function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status) {
    return proc_address(name, function, version, flags, status);
  }
};

}  // namespace nvs::fake
