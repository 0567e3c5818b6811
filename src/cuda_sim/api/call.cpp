// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/api/call.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "cuda_sim/objects/call_time.h"

namespace nvs::sim {
namespace {

thread_local int per_thread_default = 0;

void note_call(int file, const char* symbol) {
  const std::string line = thread_name() + " " + symbol + "\n";
  if (::write(file, line.data(), line.size()) < 0) std::perror("cuda_sim: NVSHARE_SIM_CALLS_FILE");
}

// What is to become of a call. One that stops the process goes on when that does.
std::optional<CUresult> fault_of(FaultInjection& faults, const char* symbol) {
  const std::optional<int> result = faults.next_result(symbol, thread_name());
  if (!result) return std::nullopt;
  if (*result >= 0) return static_cast<CUresult>(*result);
  ::kill(::getpid(), -*result);
  return std::nullopt;
}

}  // namespace

std::optional<CUresult> admit(const char* symbol, Needs needs) {
  begin_call();
  Driver& d = driver();
  if (d.exiting) return CUDA_ERROR_DEINITIALIZED;
  const bool usable = d.initialised && !d.forked;
  if (needs == Needs::init) {
    if (!usable) return CUDA_ERROR_NOT_INITIALIZED;
    if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  }
  if (usable) {
    const std::lock_guard guard{d.lock};
    if (d.calls_file >= 0) note_call(d.calls_file, symbol);
    if (d.faults.any_calls()) return fault_of(d.faults, symbol);
  }
  return std::nullopt;
}

PerThreadDefault::PerThreadDefault() { ++per_thread_default; }
PerThreadDefault::~PerThreadDefault() { --per_thread_default; }

CUresult current_context(Driver& driver, std::shared_ptr<Context>& out) {
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  out = driver.contexts.find(stack.back());
  if (!out) return CUDA_ERROR_INVALID_CONTEXT;
  if (out->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return out->sticky;
}

CUresult context_in_any_state(Driver& driver, std::shared_ptr<Context>& out) {
  const auto& stack = context_stack();
  if (!stack.empty()) out = driver.contexts.find(stack.back());
  return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult look_up_stream(Driver& driver, CUstream handle, std::shared_ptr<Stream>& out) {
  const bool own = handle == CU_STREAM_PER_THREAD || (handle == nullptr && per_thread_default > 0);
  if (own || handle == nullptr || handle == CU_STREAM_LEGACY) {
    std::shared_ptr<Context> context;
    if (const CUresult result = current_context(driver, context); result != CUDA_SUCCESS) {
      return result;
    }
    if (!own) {
      out = context->legacy;
      return CUDA_SUCCESS;
    }
    auto& slot = context->per_thread[current_thread()];
    if (!slot) {
      slot = std::make_shared<Stream>();
      slot->kind = StreamKind::per_thread;
      slot->context = context.get();
      slot->handle = CU_STREAM_PER_THREAD;
      slot->id = driver.next_id++;
    }
    out = slot;
    return CUDA_SUCCESS;
  }
  out = driver.streams.find(handle);
  if (!out) return CUDA_ERROR_INVALID_HANDLE;
  return out->context->sticky;
}

Capture* capture_in_order_with(Driver& driver, const Stream& stream) {
  if (stream.kind != StreamKind::legacy) return nullptr;
  for (const auto& capture : driver.captures) {
    for (const Stream* captured : capture->streams) {
      if (captured->context == stream.context && captured->blocking()) return capture.get();
    }
  }
  return nullptr;
}

CUresult find_stream(Driver& driver, CUstream handle, std::shared_ptr<Stream>& out) {
  if (const CUresult result = look_up_stream(driver, handle, out); result != CUDA_SUCCESS) {
    return result;
  }
  if (Capture* capture = capture_in_order_with(driver, *out)) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(Driver& driver) {
  for (const auto& capture : driver.captures) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool own = capture->thread == current_thread();
    if (own && thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    if (!own && (capture->mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
                 thread_capture_mode() != CU_STREAM_CAPTURE_MODE_GLOBAL)) {
      continue;
    }
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult invalidate(Capture& capture) {
  capture.invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUstreamCaptureMode& thread_capture_mode() {
  static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

}  // namespace nvs::sim
