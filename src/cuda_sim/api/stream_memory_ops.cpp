// SPDX-License-Identifier: Apache-2.0
// Entry points: values that a stream writes to memory or waits for there.
#include "cuda_sim/api/call.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

constexpr unsigned kWaitFlags = CU_STREAM_WAIT_VALUE_NOR;  // the comparison; all others are bits
constexpr unsigned kBatchMax = 256;

// With the lock held.
CUresult check(Driver& d, const ValueStep& step, unsigned allowed_flags) {
  if (step.address == 0 || step.address % step.bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((step.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((step.flags & ~allowed_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool known =
      d.space.find(step.address) != nullptr || d.space.find_host(step.address) != nullptr;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check(Driver& d, const ValueStep& step) {
  const unsigned allowed =
      step.waits ? kWaitFlags : unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER};
  return check(d, step, allowed);
}

CUresult submit_steps(CUstream handle, std::vector<ValueStep> steps) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  for (const ValueStep& step : steps) {
    if (const CUresult result = check(d, step); result != CUDA_SUCCESS) return result;
  }
  return submit(d, guard, *stream, ValueWork{std::move(steps)});
}

CUresult write_value(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned bytes,
                     unsigned flags) {
  return submit_steps(
      stream,
      {{.address = address, .value = value, .bytes = bytes, .waits = false, .flags = flags}});
}

CUresult wait_value(CUstream stream, CUdeviceptr address, std::uint64_t value, unsigned bytes,
                    unsigned flags) {
  return submit_steps(
      stream,
      {{.address = address, .value = value, .bytes = bytes, .waits = true, .flags = flags}});
}

// Barriers and flushes have nothing to do: the simulated memory has no caches.
CUresult batch(CUstream stream, unsigned count, const CUstreamBatchMemOpParams* params,
               unsigned flags) {
  if (params == nullptr || count == 0 || count > kBatchMax || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<ValueStep> steps;
  for (unsigned i = 0; i < count; ++i) {
    const auto& wait = params[i].waitValue;
    const auto& write = params[i].writeValue;
    switch (params[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        steps.push_back({wait.address, wait.value, 4, true, wait.flags});
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        steps.push_back({wait.address, wait.value64, 8, true, wait.flags});
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        steps.push_back({write.address, write.value, 4, false, write.flags});
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        steps.push_back({write.address, write.value64, 8, false, write.flags});
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return submit_steps(stream, std::move(steps));
}

}  // namespace

// Each call in its first and its present form, which differ in what old drivers allowed.
#define NVS_SIM_VALUE(symbol, type, action, bytes)                                               \
  NVS_SIM_STREAM(symbol, _ptsz,                                                                  \
                 (CUstream stream, CUdeviceptr address, type value, unsigned int flags), stream, \
                 address, value, flags) {                                                        \
    return action(stream, address, value, bytes, flags);                                         \
  }

NVS_SIM_VALUE(cuStreamWriteValue32, cuuint32_t, write_value, 4)
NVS_SIM_VALUE(cuStreamWriteValue32_v2, cuuint32_t, write_value, 4)
NVS_SIM_VALUE(cuStreamWriteValue64, cuuint64_t, write_value, 8)
NVS_SIM_VALUE(cuStreamWriteValue64_v2, cuuint64_t, write_value, 8)
NVS_SIM_VALUE(cuStreamWaitValue32, cuuint32_t, wait_value, 4)
NVS_SIM_VALUE(cuStreamWaitValue32_v2, cuuint32_t, wait_value, 4)
NVS_SIM_VALUE(cuStreamWaitValue64, cuuint64_t, wait_value, 8)
NVS_SIM_VALUE(cuStreamWaitValue64_v2, cuuint64_t, wait_value, 8)

NVS_SIM_STREAM(cuStreamBatchMemOp, _ptsz,
               (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* params,
                unsigned int flags),
               stream, count, params, flags) {
  return batch(stream, count, params, flags);
}

NVS_SIM_STREAM(cuStreamBatchMemOp_v2, _ptsz,
               (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* params,
                unsigned int flags),
               stream, count, params, flags) {
  return batch(stream, count, params, flags);
}
