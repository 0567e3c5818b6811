// SPDX-License-Identifier: Apache-2.0
// Hooks: memory that has an address from the start, and how it is freed.
#include "interposer/memory/hook_support.h"

namespace nvs::interposer::memory {
namespace {

template <class Address>
void count_address(MemoryKind kind, const Address* address, std::uint64_t bytes) {
  if (address == nullptr) return;
  count_here({.space = Space::address, .kind = kind, .id = *address, .bytes = bytes});
}

// Under capture nothing is allocated: the call adds a node to a graph, whose memory is the
// driver's. The legacy stream cannot be captured, and asking about it would be an error.
bool is_captured(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  auto* ask = real<Row::cuStreamIsCapturing>();
  if (ask == nullptr || ask(stream, &status) != CUDA_SUCCESS) return false;
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// What a null stream means to the functions for a default stream per thread.
CUstream per_thread(CUstream stream) { return stream != nullptr ? stream : CU_STREAM_PER_THREAD; }

CUresult count_async(CUresult result, MemoryKind kind, const CUdeviceptr* address,
                     std::uint64_t bytes, CUstream stream) {
  if (result == CUDA_SUCCESS && !is_captured(stream)) count_address(kind, address, bytes);
  return result;
}

template <class Address, class Size>
CUresult count_pitched(CUresult result, const Address* address, const Size* pitch, Size rows) {
  if (result == CUDA_SUCCESS && pitch != nullptr) {
    count_address(MemoryKind::pitched, address, std::uint64_t{*pitch} * rows);
  }
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytesize) {
  const CUresult result = real<Row::cuMemAlloc>()(dptr, bytesize);
  if (result == CUDA_SUCCESS) count_address(MemoryKind::plain, dptr, bytesize);
  return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  const CUresult result = real<Row::cuMemAlloc_v2>()(dptr, bytesize);
  if (result == CUDA_SUCCESS) count_address(MemoryKind::plain, dptr, bytesize);
  return result;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pPitch, unsigned int WidthInBytes,
                         unsigned int Height, unsigned int ElementSizeBytes) {
  return count_pitched(
      real<Row::cuMemAllocPitch>()(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes), dptr,
      pPitch, Height);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  return count_pitched(
      real<Row::cuMemAllocPitch_v2>()(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes), dptr,
      pPitch, Height);
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  const CUresult result = real<Row::cuMemAllocManaged>()(dptr, bytesize, flags);
  if (result == CUDA_SUCCESS) count_address(MemoryKind::managed, dptr, bytesize);
  return result;
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return count_async(real<Row::cuMemAllocAsync>()(dptr, bytesize, hStream), MemoryKind::async, dptr,
                     bytesize, hStream);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return count_async(real<Row::cuMemAllocAsync_ptsz>()(dptr, bytesize, hStream), MemoryKind::async,
                     dptr, bytesize, per_thread(hStream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  return count_async(real<Row::cuMemAllocFromPoolAsync>()(dptr, bytesize, pool, hStream),
                     MemoryKind::pool, dptr, bytesize, hStream);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream) {
  return count_async(real<Row::cuMemAllocFromPoolAsync_ptsz>()(dptr, bytesize, pool, hStream),
                     MemoryKind::pool, dptr, bytesize, per_thread(hStream));
}

CUresult cuMemFree(CUdeviceptr_v1 dptr) {
  return free_through(Space::address, dptr, [&] { return real<Row::cuMemFree>()(dptr); });
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  return free_through(Space::address, dptr, [&] { return real<Row::cuMemFree_v2>()(dptr); });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  return free_through(Space::address, dptr,
                      [&] { return real<Row::cuMemFreeAsync>()(dptr, hStream); });
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream) {
  return free_through(Space::address, dptr,
                      [&] { return real<Row::cuMemFreeAsync_ptsz>()(dptr, hStream); });
}

}  // namespace nvs::hooks
