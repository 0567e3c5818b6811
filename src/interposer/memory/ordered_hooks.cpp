// SPDX-License-Identifier: Apache-2.0
// Hooks: memory that is allocated and freed in the order of a stream, and the calls that wait for
// one: then pools give back what they have too much.
#include "interposer/exports/default_streams.h"
#include "interposer/exports/in_context.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/ordered.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {
namespace {

// Under capture nothing is allocated: the call adds a node to a graph. The legacy stream cannot be
// captured, and asking about it would be an error.
bool is_captured(CUstream stream) {
  if (stream == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  auto* ask = real<Row::cuStreamIsCapturing>();
  if (ask == nullptr || ask(stream, &status) != CUDA_SUCCESS) return false;
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void count_movable(const swap::Allocated& made, const Reserved& reserved) {
  const Allocation allocation{.space = Space::address,
                              .kind = MemoryKind::movable,
                              .id = made.base,
                              .bytes = made.bytes,
                              .owner = {OwnerType::context, made.context},
                              .reserved = reserved};
  if (!books().allocated(allocation)) books().allocated(allocation, made.device);
}

// A pool may have its memory on another GPU than the stream, or in the host.
int device_of(const swap::Ordered& wanted) {
  return wanted.pool != 0 ? swap::device_of_pool(wanted.pool) : kUnknownDevice;
}

bool reserve(Reservation& reserved, const swap::Ordered& wanted) {
  const libc::NoCancel no_cancel;
  const int device = device_of(wanted);
  if (device != kUnknownDevice) return reserved.take(device, wanted.bytes);
  return reserved.take_here(wanted.bytes);
}

// Default streams are of the current context.
int device_of(CUstream stream) {
  CUcontext context = nullptr;
  auto* ask = real<Row::cuStreamGetCtx>();
  if (is_default_stream(stream) || ask == nullptr || ask(stream, &context) != CUDA_SUCCESS) {
    return current_device();
  }
  const InContext current(context);
  return current_device();
}

// Where others may make room for it. A node needs none before it is launched, and a pool that is
// full by its own limit gets nothing by waiting; without a pool it is the current one of the
// stream's GPU.
int device_for_room(const swap::Ordered& wanted) {
  const libc::NoCancel no_cancel;
  if (!session::has_any_daemon() || is_captured(wanted.stream)) return kUnknownDevice;
  if (wanted.pool == 0) {
    const int device = device_of(wanted.stream);
    return swap::has_maximum(swap::current_pool(device)) ? kUnknownDevice : device;
  }
  if (swap::has_maximum(wanted.pool)) return kUnknownDevice;
  const int device = device_of(wanted);
  return device != kUnknownDevice ? device : swap::gpu_here();
}

// Memory of another device than the current context's goes with no context.
void count_native(MemoryKind kind, CUdeviceptr address, std::uint64_t bytes,
                  const Reserved& reserved) {
  Allocation allocation{
      .space = Space::address, .kind = kind, .id = address, .bytes = bytes, .reserved = reserved};
  if (reserved.device == kUnknownDevice || reserved.device == current_device()) {
    return count_here(allocation);
  }
  allocation.owner = device_owner(reserved.device);
  books().allocated(allocation, reserved.device);
}

template <class Native>
CUresult allocate_native(CUdeviceptr* address, MemoryKind kind, const swap::Ordered& wanted,
                         Reservation& reserved, Native native) {
  if (address != nullptr && !reserve(reserved, wanted)) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto where = [&] { return device_for_room(wanted); };
  return swap::with_room_for(wanted.bytes, where, [&] {
    const CUresult result = native();
    if (result != CUDA_SUCCESS || is_captured(wanted.stream) || address == nullptr) return result;
    count_native(kind, *address, wanted.bytes, reserved.hand_over());
    return result;
  });
}

// Without a pool it is the current one of the stream's GPU.
int device_of_node(const swap::Ordered& wanted) {
  const libc::NoCancel no_cancel;
  const int device = device_of(wanted);
  return device != kUnknownDevice ? device : device_of(wanted.stream);
}

// A node of the graph that is captured. Where there is none any more, the driver says so.
template <class Native>
CUresult allocate_captured(const CUdeviceptr* address, const swap::Ordered& wanted, Native native) {
  const CUgraph graph = graphs::captured_by(wanted.stream);
  if (address == nullptr || graph == nullptr) return native();
  graphs::NewNode node(graph, device_of_node(wanted), wanted.bytes, graphs::Made::by_capture);
  return graphs::add_through(node, native, [&] { return *address; });
}

// Memory that can be moved, or what the driver itself does.
template <class Native>
CUresult allocate_ordered(CUdeviceptr* address, MemoryKind kind, const swap::Ordered& wanted,
                          Native native) {
  if (captures::is_any() && is_captured(wanted.stream)) {
    return allocate_captured(address, wanted, native);
  }
  const bool may_be_ours = address != nullptr && session::may_be_movable();
  swap::Allocated made;
  Reservation reserved;
  const swap::Got got =
      may_be_ours ? swap::allocate_ordered(wanted, made, reserved) : swap::Got::native;
  if (got == swap::Got::native) return allocate_native(address, kind, wanted, reserved, native);
  *address = made.base;
  if (got == swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
  count_movable(made, reserved.hand_over());
  return CUDA_SUCCESS;
}

// A null pool is an error, which the driver tells.
template <class Native>
CUresult allocate_from_pool(CUdeviceptr* address, const swap::Ordered& wanted, Native native) {
  if (wanted.pool != 0) return allocate_ordered(address, MemoryKind::pool, wanted, native);
  Reservation reserved;
  return allocate_native(address, MemoryKind::pool, wanted, reserved, native);
}

// Under capture a node that frees is made, which the driver refuses for all memory that was not
// allocated by a node.
template <class Native>
CUresult free_captured(CUdeviceptr address, CUstream stream, Native native) {
  const CUresult result = native();
  if (result != CUDA_SUCCESS || !graphs::is_any()) return result;
  graphs::free_added(graphs::captured_by(stream), address);
  return result;
}

template <class Native>
CUresult free_ordered(CUdeviceptr address, CUstream stream, Native native) {
  if (captures::is_any() && is_captured(stream)) return free_captured(address, stream, native);
  return free_through(Space::address, address, [&] {
    if (!swap::is_ours(address)) return native();
    return swap::free_ordered(address, stream);
  });
}

CUresult synchronised(CUresult result) {
  if (swap::has_surplus()) [[unlikely]]
    swap::give_back_surplus();
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::or_legacy;
using interposer::or_per_thread;
using interposer::real;
using interposer::Row;

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate_ordered(dptr, MemoryKind::async, {bytesize, 0, or_legacy(hStream)},
                          [&] { return real<Row::cuMemAllocAsync>()(dptr, bytesize, hStream); });
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate_ordered(dptr, MemoryKind::async, {bytesize, 0, or_per_thread(hStream)}, [&] {
    return real<Row::cuMemAllocAsync_ptsz>()(dptr, bytesize, hStream);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  const auto native = [&] {
    return real<Row::cuMemAllocFromPoolAsync>()(dptr, bytesize, pool, hStream);
  };
  const interposer::swap::Ordered wanted{bytesize, number_of(pool), or_legacy(hStream)};
  return allocate_from_pool(dptr, wanted, native);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream) {
  const auto native = [&] {
    return real<Row::cuMemAllocFromPoolAsync_ptsz>()(dptr, bytesize, pool, hStream);
  };
  const interposer::swap::Ordered wanted{bytesize, number_of(pool), or_per_thread(hStream)};
  return allocate_from_pool(dptr, wanted, native);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  return free_ordered(dptr, or_legacy(hStream),
                      [&] { return real<Row::cuMemFreeAsync>()(dptr, hStream); });
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream) {
  return free_ordered(dptr, or_per_thread(hStream),
                      [&] { return real<Row::cuMemFreeAsync_ptsz>()(dptr, hStream); });
}

CUresult cuStreamSynchronize(CUstream hStream) {
  return synchronised(real<Row::cuStreamSynchronize>()(hStream));
}
CUresult cuStreamSynchronize_ptsz(CUstream hStream) {
  return synchronised(real<Row::cuStreamSynchronize_ptsz>()(hStream));
}
CUresult cuEventSynchronize(CUevent hEvent) {
  return synchronised(real<Row::cuEventSynchronize>()(hEvent));
}
CUresult cuCtxSynchronize() { return synchronised(real<Row::cuCtxSynchronize>()()); }
CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  return synchronised(real<Row::cuCtxSynchronize_v2>()(ctx));
}

}  // namespace nvs::hooks
