// SPDX-License-Identifier: Apache-2.0
// While one of these lives, the thread may ask the driver things that a stream capture elsewhere in
// the program would otherwise forbid, or be broken by.
#pragma once

#include "interposer/exports/real.h"

namespace nvs::interposer {

class RelaxedCapture {
 public:
  RelaxedCapture() {
    if (const auto exchange = real<Row::cuThreadExchangeStreamCaptureMode>()) exchange(&mode_);
  }
  ~RelaxedCapture() {
    if (const auto exchange = real<Row::cuThreadExchangeStreamCaptureMode>()) exchange(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace nvs::interposer
