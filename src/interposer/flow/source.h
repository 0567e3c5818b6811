// SPDX-License-Identifier: Apache-2.0
// Which stream a submission goes to. The handle does not tell it of default streams: it is the same
// in every context, and that of the threads' own ones in every thread as well.
#pragma once

#include <cstdint>

#include "interposer/exports/default_streams.h"
#include "interposer/exports/real.h"
#include "interposer/resolve/thread_number.h"

namespace nvs::interposer::flow {

struct Source {
  CUstream stream;
  CUcontext context;     // of a default stream
  std::uint64_t thread;  // of that of a thread

  bool operator==(const Source&) const = default;
};

// As the calling thread means it now.
inline Source source_of(CUstream stream) {
  if (!is_default_stream(stream)) return {stream, nullptr, 0};
  CUcontext context = nullptr;
  if (const auto current = real<Row::cuCtxGetCurrent>()) current(&context);
  return {stream, context, stream == CU_STREAM_PER_THREAD ? thread_number() : 0};
}

}  // namespace nvs::interposer::flow
