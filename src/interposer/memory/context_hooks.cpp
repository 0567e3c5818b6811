// SPDX-License-Identifier: Apache-2.0
// Hooks: contexts come and go, and their memory goes with them.
#include "interposer/flow/flow.h"
#include "interposer/memory/graph_room.h"
#include "interposer/memory/green_contexts.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/ipc_open.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/report.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/sparse_maps.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/lane.h"
#include "interposer/memory/swap/ordered_streams.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/faults.h"
#include "interposer/session/retains.h"
#include "interposer/session/session.h"

namespace nvs::interposer::memory {
namespace {

template <class Call>
CUresult create_through(const CUcontext* context, CUdevice device, Call call) {
  const CUresult result = swap::with_room(device, call);
  if (result != CUDA_SUCCESS || context == nullptr) return result;
  books().context_created(number_of(*context), device);
  contexts::created(*context, device);
  session::gpu_used(device);
  log_context(number_of(*context), RowUse::context, device, "created");
  return result;
}

void count_ended(std::uint64_t context, Birth before) {
  OwnerRow last;
  if (books().ended({OwnerType::context, context}, before, last)) report_ended(last);
  sparse::context_ended(context, before);
}

// A call that may end a context: our own use of it ends before. What we have there ends with it, or
// goes on being used.
class Ending {
 public:
  explicit Ending(CUcontext context) : context_(context) {
    if (context == nullptr) return;
    const libc::NoCancel no_cancel;
    contexts::may_end(context);
    flow::context_ends(context);
    scrap_ = swap::take_scrap(number_of(context));
    swap::ordered_may_end(number_of(context));
    sample_ = take_sample(number_of(context));
  }
  ~Ending() {
    if (context_ == nullptr) return;
    const libc::NoCancel no_cancel;
    if (ended_) {
      swap::forget_lane(context_);
      close_all_of(number_of(context_));
      swap::context_ended(number_of(context_));
      swap::peer_ended(number_of(context_));
      if (contexts::ended(context_)) captures::context_ended(context_);
      end_shares();  // many of them take long, and whoever drains waits for contexts that end
      graphs::context_ended();
      session::context_ended();
    } else {
      contexts::goes_on(context_);
      swap::ordered_goes_on(number_of(context_));
      swap::keep_scrap(number_of(context_), scrap_);
      keep_sample(number_of(context_), sample_);
    }
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  void ended() { ended_ = true; }

 private:
  CUcontext context_;
  CUdeviceptr scrap_ = 0;
  CUdeviceptr sample_ = 0;
  bool ended_ = false;
};

template <class Call>
CUresult destroy_through(CUcontext context, Call call) {
  Ending ending(context);
  const Birth before = books().now();
  const CUresult result = call();
  if (result != CUDA_SUCCESS) return result;
  ending.ended();
  count_ended(number_of(context), before);
  return result;
}

bool is_primary_active(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  auto* ask = real<Row::cuDevicePrimaryCtxGetState>();
  return ask != nullptr && ask(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

void count_primary_ended(CUdevice device, Birth before) {
  const std::uint64_t context = books().primary_of(device);
  if (context != 0) count_ended(context, before);
}

// Only the last release ends it, and until then nothing of ours stops. A context that others have
// released past us may be gone all the same.
template <class Call>
CUresult release_through(CUdevice device, Call call) {
  retains::Call release(device, retains::Call::Kind::release);
  Ending ending(release.may_end() ? contexts::primary_of(device) : nullptr);
  const Birth before = books().now();
  const CUresult result = call();
  if (result != CUDA_SUCCESS) return result;
  release.succeeded();
  if (is_primary_active(device)) return result;
  release.ended();
  Ending late(release.may_end() ? nullptr : contexts::primary_of(device));
  ending.ended();
  late.ended();
  count_primary_ended(device, before);
  return result;
}

// It is written down before anybody else can end it.
CUresult retain_through(CUcontext* context, CUdevice device, bool& is_new) {
  retains::Call retain(device, retains::Call::Kind::retain);
  const CUresult result = real<Row::cuDevicePrimaryCtxRetain>()(context, device);
  if (result != CUDA_SUCCESS || context == nullptr) return result;
  retain.succeeded();
  contexts::primary_created(*context, device);
  is_new = books().primary_retained(number_of(*context), device);
  return result;
}

// Nobody is told which context a green one belongs to: the primary one, which it holds, and which
// may be new by that.
void learn_primary(CUdevice device) {
  CUcontext primary = nullptr;
  auto* const retain = real<Row::cuDevicePrimaryCtxRetain>();
  auto* const release = real<Row::cuDevicePrimaryCtxRelease_v2>();
  if (retain == nullptr || release == nullptr) return;
  if (retain(&primary, device) != CUDA_SUCCESS) return;
  contexts::primary_created(primary, device);
  if (books().primary_retained(number_of(primary), device)) {
    log_context(number_of(primary), RowUse::primary_context, device, "created");
  }
  release(device);
}

// It counts as one more that holds the primary context.
template <class Call>
CUresult create_green_through(CUdevice device, Call call) {
  return swap::with_room(device, [&] {
    retains::Call retain(device, retains::Call::Kind::retain);
    const CUresult result = call();
    if (result != CUDA_SUCCESS) return result;
    retain.succeeded();
    learn_primary(device);
    return result;
  });
}

CUcontext context_of(CUgreenCtx green) {
  CUcontext context = nullptr;
  auto* const find = real<Row::cuCtxFromGreenCtx>();
  return find != nullptr && find(&context, green) == CUDA_SUCCESS ? context : nullptr;
}

// What we have behind the work of its streams ends with it, unlike its memory.
void green_may_end(CUcontext context) {
  if (context == nullptr) return;
  const libc::NoCancel no_cancel;
  flow::context_ends(context);
  swap::green_may_end(number_of(context));
}

// A reset frees everything, however many hold the context.
template <class Call>
CUresult reset_through(CUdevice device, Call call) {
  const retains::Call reset(device, retains::Call::Kind::reset);
  Ending ending(contexts::primary_of(device));
  const Birth before = books().now();
  const CUresult result = call();
  if (result != CUDA_SUCCESS) return result;
  ending.ended();
  count_primary_ended(device, before);
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create_through(pctx, dev, [&] { return real<Row::cuCtxCreate>()(pctx, flags, dev); });
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create_through(pctx, dev, [&] { return real<Row::cuCtxCreate_v2>()(pctx, flags, dev); });
}

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                        unsigned int flags, CUdevice dev) {
  return create_through(pctx, dev, [&] {
    return real<Row::cuCtxCreate_v3>()(pctx, paramsArray, numParams, flags, dev);
  });
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                        CUdevice dev) {
  return create_through(
      pctx, dev, [&] { return real<Row::cuCtxCreate_v4>()(pctx, ctxCreateParams, flags, dev); });
}

// These are destroyed like any other.
CUresult cuGLCtxCreate(CUcontext* pCtx, unsigned int Flags, CUdevice device) {
  return create_through(pCtx, device,
                        [&] { return real<Row::cuGLCtxCreate>()(pCtx, Flags, device); });
}

CUresult cuGLCtxCreate_v2(CUcontext* pCtx, unsigned int Flags, CUdevice device) {
  return create_through(pCtx, device,
                        [&] { return real<Row::cuGLCtxCreate_v2>()(pCtx, Flags, device); });
}

CUresult cuVDPAUCtxCreate(CUcontext* pCtx, unsigned int flags, CUdevice device,
                          unsigned int vdpDevice, void* vdpGetProcAddress) {
  return create_through(pCtx, device, [&] {
    return real<Row::cuVDPAUCtxCreate>()(pCtx, flags, device, vdpDevice, vdpGetProcAddress);
  });
}

CUresult cuVDPAUCtxCreate_v2(CUcontext* pCtx, unsigned int flags, CUdevice device,
                             unsigned int vdpDevice, void* vdpGetProcAddress) {
  return create_through(pCtx, device, [&] {
    return real<Row::cuVDPAUCtxCreate_v2>()(pCtx, flags, device, vdpDevice, vdpGetProcAddress);
  });
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
  Ending ending(ctx);
  const Birth before = books().now();
  const CUresult result = real<Row::cuCtxDetach>()(ctx);
  if (result == CUDA_SUCCESS && current_context().value != number_of(ctx)) {
    ending.ended();
    count_ended(number_of(ctx), before);
  }
  return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  bool is_new = false;
  const CUresult result =
      interposer::swap::with_room(dev, [&] { return retain_through(pctx, dev, is_new); });
  if (result != CUDA_SUCCESS || pctx == nullptr) return result;
  interposer::session::gpu_used(dev);
  if (is_new) log_context(number_of(*pctx), RowUse::primary_context, dev, "created");
  return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  return release_through(dev, [&] { return real<Row::cuDevicePrimaryCtxRelease>()(dev); });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  return release_through(dev, [&] { return real<Row::cuDevicePrimaryCtxRelease_v2>()(dev); });
}

CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev,
                          unsigned int flags) {
  const CUresult result = create_green_through(
      dev, [&] { return real<Row::cuGreenCtxCreate>()(phCtx, desc, dev, flags); });
  if (result != CUDA_SUCCESS) return result;
  if (phCtx != nullptr) green_created(*phCtx, dev);
  interposer::session::gpu_used(dev);
  return result;
}

// It lets the primary context go, which may end with it.
CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  const auto native = [&] { return real<Row::cuGreenCtxDestroy>()(hCtx); };
  const CUcontext context = context_of(hCtx);
  green_may_end(context);
  const int device = take_green(hCtx);
  if (device == kUnknownDevice) return native();
  const CUresult result = release_through(device, native);
  if (result == CUDA_SUCCESS) {
    interposer::captures::context_ended(context);
  } else {
    green_created(hCtx, device);
  }
  return result;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
  return reset_through(dev, [&] { return real<Row::cuDevicePrimaryCtxReset>()(dev); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  return reset_through(dev, [&] { return real<Row::cuDevicePrimaryCtxReset_v2>()(dev); });
}

}  // namespace nvs::hooks
