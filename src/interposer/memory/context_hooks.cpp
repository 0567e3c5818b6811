// SPDX-License-Identifier: Apache-2.0
// Hooks: contexts come and go, and their memory goes with them.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/report.h"

namespace nvs::interposer::memory {
namespace {

CUresult count_created(CUresult result, const CUcontext* context, CUdevice device) {
  if (result != CUDA_SUCCESS || context == nullptr) return result;
  books().context_created(number_of(*context), device);
  log_context(number_of(*context), RowUse::context, device, "created");
  return result;
}

void count_ended(std::uint64_t context, Birth before) {
  OwnerRow last;
  if (books().ended({OwnerType::context, context}, before, last)) report_ended(last);
}

template <class Call>
CUresult destroy_through(CUcontext context, Call call) {
  const Birth before = books().now();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) count_ended(number_of(context), before);
  return result;
}

bool is_primary_active(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  auto* ask = real<Row::cuDevicePrimaryCtxGetState>();
  return ask != nullptr && ask(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// Only the last release ends it.
template <class Call>
CUresult release_through(CUdevice device, Call call) {
  const Birth before = books().now();
  const CUresult result = call();
  if (result != CUDA_SUCCESS || is_primary_active(device)) return result;
  const std::uint64_t context = books().primary_of(device);
  if (context != 0) count_ended(context, before);
  return result;
}

// A reset frees everything, however many hold the context.
template <class Call>
CUresult reset_through(CUdevice device, Call call) {
  const Birth before = books().now();
  const CUresult result = call();
  const std::uint64_t context = books().primary_of(device);
  if (result == CUDA_SUCCESS && context != 0) count_ended(context, before);
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return count_created(real<Row::cuCtxCreate>()(pctx, flags, dev), pctx, dev);
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return count_created(real<Row::cuCtxCreate_v2>()(pctx, flags, dev), pctx, dev);
}

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                        unsigned int flags, CUdevice dev) {
  return count_created(real<Row::cuCtxCreate_v3>()(pctx, paramsArray, numParams, flags, dev), pctx,
                       dev);
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                        CUdevice dev) {
  return count_created(real<Row::cuCtxCreate_v4>()(pctx, ctxCreateParams, flags, dev), pctx, dev);
}

CUresult cuCtxDestroy(CUcontext ctx) {
  return destroy_through(ctx, [&] { return real<Row::cuCtxDestroy>()(ctx); });
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  return destroy_through(ctx, [&] { return real<Row::cuCtxDestroy_v2>()(ctx); });
}

// Only a current context can be detached from, and measured on an H200 it stays current unless that
// was the last use of it.
CUresult cuCtxDetach(CUcontext ctx) {
  const Birth before = books().now();
  const CUresult result = real<Row::cuCtxDetach>()(ctx);
  if (result == CUDA_SUCCESS && current_context().value != number_of(ctx)) {
    count_ended(number_of(ctx), before);
  }
  return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  const CUresult result = real<Row::cuDevicePrimaryCtxRetain>()(pctx, dev);
  if (result != CUDA_SUCCESS || pctx == nullptr) return result;
  if (books().primary_retained(number_of(*pctx), dev)) {
    log_context(number_of(*pctx), RowUse::primary_context, dev, "created");
  }
  return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  return release_through(dev, [&] { return real<Row::cuDevicePrimaryCtxRelease>()(dev); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  return release_through(dev, [&] { return real<Row::cuDevicePrimaryCtxRelease_v2>()(dev); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
  return reset_through(dev, [&] { return real<Row::cuDevicePrimaryCtxReset>()(dev); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  return reset_through(dev, [&] { return real<Row::cuDevicePrimaryCtxReset_v2>()(dev); });
}

}  // namespace nvs::hooks
