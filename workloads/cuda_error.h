// SPDX-License-Identifier: Apache-2.0
// A CUDA call that failed, in words that help: which call, the error's name, and what to do about
// it. Workloads are programs of their own, so an exception carries it to the one place that prints
// it.
#pragma once

#include <stdexcept>
#include <string>

#include "cuda_api/driver.h"

namespace nvs::workloads {

class CudaError : public std::runtime_error {
 public:
  CudaError(const Driver& driver, const char* call, CUresult result);

  CUresult result() const { return result_; }

 private:
  CUresult result_;
};

// What a user can do about an error; empty where we know nothing better than its name.
std::string advice_for(CUresult result);

}  // namespace nvs::workloads
