// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/sample.h"

#include "interposer/exports/in_context.h"
#include "interposer/exports/real.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {
namespace {

struct Sample {
  std::uint64_t context;  // 0: free
  CUdeviceptr address;
};
constexpr int kSamplesMax = 64;
constexpr std::size_t kSampleBytes = 256;

constinit os::FutexLock lock;  // held while one is made: nobody wants two
constinit Sample samples[kSamplesMax] = {};

// The context's, or else a free one, with the lock held; null: there is no room.
Sample* place_for(std::uint64_t context) {
  Sample* place = nullptr;
  for (Sample& sample : samples) {
    if (sample.context == context) return &sample;
    if (place == nullptr && sample.context == 0) place = &sample;
  }
  return place;
}

CUdeviceptr make(std::uint64_t context) {
  const auto push = real<Row::cuCtxPushCurrent_v2>();
  const auto pop = real<Row::cuCtxPopCurrent_v2>();
  const auto allocate = real<Row::cuMemAlloc_v2>();
  if (push == nullptr || pop == nullptr || allocate == nullptr) return 0;
  if (push(reinterpret_cast<CUcontext>(context)) != CUDA_SUCCESS) return 0;
  CUdeviceptr address = 0;
  {
    const RelaxedCapture relaxed;
    if (allocate(&address, kSampleBytes) != CUDA_SUCCESS) address = 0;
  }
  CUcontext popped = nullptr;
  pop(&popped);
  return address;
}

}  // namespace

CUdeviceptr sample_in(std::uint64_t context) {
  if (context == 0) return 0;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  Sample* const place = place_for(context);
  if (place == nullptr || place->context == context) return place != nullptr ? place->address : 0;
  const CUdeviceptr address = make(context);
  if (address != 0) *place = {context, address};
  return address;
}

CUdeviceptr take_sample(std::uint64_t context) {
  const os::FutexGuard guard(lock);
  for (Sample& sample : samples) {
    if (sample.context != context) continue;
    const CUdeviceptr address = sample.address;
    sample = {};
    return address;
  }
  return 0;
}

void keep_sample(std::uint64_t context, CUdeviceptr address) {
  if (address == 0) return;
  {
    const os::FutexGuard guard(lock);
    Sample* const place = place_for(context);
    if (place != nullptr && place->context == 0) {
      *place = {context, address};
      return;
    }
  }
  // Somebody has made another one meanwhile.
  const InContext current(reinterpret_cast<CUcontext>(context));
  if (current.is_set()) real<Row::cuMemFree_v2>()(address);
}

void forget_samples_in_child() {
  lock.reset();
  for (Sample& sample : samples) sample = {};
}

}  // namespace nvs::interposer::memory
