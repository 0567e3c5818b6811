// SPDX-License-Identifier: Apache-2.0
// The front door of every entry point: is the driver initialised, is this call to fail on purpose,
// which default stream does it mean. The functions behind it deal with CUDA alone.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

enum class Needs { init, nothing };

/// Nothing if the call may go on; else what it returns at once.
std::optional<CUresult> admit(const char* symbol, Needs needs);

/// While one of these lives, stream 0 means the calling thread's own default stream.
class PerThreadDefault {
 public:
  PerThreadDefault();
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;
};

template <class F>
CUresult enter(const char* symbol, Needs needs, F&& body) {
  if (const std::optional<CUresult> result = admit(symbol, needs)) return *result;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

/// The current context, usable. With the lock held.
CUresult current_context(Driver& driver, std::shared_ptr<Context>& out);

/// The current context, even if it is destroyed or poisoned: some questions are still answered
/// then. With the lock held.
CUresult context_in_any_state(Driver& driver, std::shared_ptr<Context>& out);

/// What a stream handle means for the calling thread. With the lock held, as the two below.
CUresult look_up_stream(Driver& driver, CUstream handle, std::shared_ptr<Stream>& out);

/// The capture of a stream that the legacy stream would have to wait for, which cannot be. Null if
/// there is none, or if this is not the legacy stream.
Capture* capture_in_order_with(Driver& driver, const Stream& stream);

/// The stream a handle means, for work on it or a wait for it. Such a capture is invalidated.
CUresult find_stream(Driver& driver, CUstream handle, std::shared_ptr<Stream>& out);

/// Refuses calls that must not be made while a capture is under way (cudaMalloc and its like). With
/// the lock held.
CUresult refuse_in_capture(Driver& driver);

/// What cuThreadExchangeStreamCaptureMode sets.
CUstreamCaptureMode& thread_capture_mode();

/// A call that would wait for a capturing stream, which can never end.
CUresult invalidate(Capture& capture);

}  // namespace nvs::sim

// NVS_SIM(symbol, (parameters), arguments...) { body }: an exported entry point.
#define NVS_SIM_NEEDS(symbol, needs, parameters, ...)                                 \
  static CUresult do_##symbol parameters;                                             \
  CUresult symbol parameters {                                                        \
    return nvs::sim::enter(#symbol, needs, [&] { return do_##symbol(__VA_ARGS__); }); \
  }                                                                                   \
  static CUresult do_##symbol parameters

#define NVS_SIM(symbol, parameters, ...) \
  NVS_SIM_NEEDS(symbol, nvs::sim::Needs::init, parameters, __VA_ARGS__)

// The same with its variant for the per-thread default stream: suffix is _ptsz or _ptds.
#define NVS_SIM_STREAM(symbol, suffix, parameters, ...) \
  CUresult symbol##suffix parameters {                  \
    const nvs::sim::PerThreadDefault per_thread;        \
    return symbol(__VA_ARGS__);                         \
  }                                                     \
  NVS_SIM(symbol, parameters, __VA_ARGS__)

// Declares `context` as the current one, or returns why there is none. The lock must be held.
#define NVS_SIM_CONTEXT(context)                                                               \
  std::shared_ptr<Context> context;                                                            \
  if (const CUresult nvs_result_ = current_context(d, context); nvs_result_ != CUDA_SUCCESS) { \
    return nvs_result_;                                                                        \
  }

// Declares `stream` as what the handle means, or returns why it means nothing. For questions about
// the stream itself. The lock must be held.
#define NVS_SIM_LOOK_UP_STREAM(stream, handle)                        \
  std::shared_ptr<Stream> stream;                                     \
  if (const CUresult nvs_result_ = look_up_stream(d, handle, stream); \
      nvs_result_ != CUDA_SUCCESS) {                                  \
    return nvs_result_;                                               \
  }

// The same, for work on the stream.
#define NVS_SIM_FIND_STREAM(stream, handle)                                                       \
  std::shared_ptr<Stream> stream;                                                                 \
  if (const CUresult nvs_result_ = find_stream(d, handle, stream); nvs_result_ != CUDA_SUCCESS) { \
    return nvs_result_;                                                                           \
  }
