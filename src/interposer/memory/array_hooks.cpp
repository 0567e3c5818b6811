// SPDX-License-Identifier: Apache-2.0
// Hooks: arrays and mipmapped arrays. The driver gives no addresses for them and tells no sizes.
#include "interposer/gate/gated_call.h"
#include "interposer/memory/array_size.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/sparse_maps.h"
#include "interposer/memory/swap/driver_room.h"

namespace nvs::interposer::memory {
namespace {

// The descriptors of all versions, as the newest one.
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY_DESCRIPTOR_v1& narrow) {
  return {narrow.Width, narrow.Height, 0, narrow.Format, narrow.NumChannels, 0};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY_DESCRIPTOR& flat) {
  return {flat.Width, flat.Height, 0, flat.Format, flat.NumChannels, 0};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR_v1& narrow) {
  return {narrow.Width,  narrow.Height,      narrow.Depth,
          narrow.Format, narrow.NumChannels, narrow.Flags};
}
CUDA_ARRAY3D_DESCRIPTOR widened(const CUDA_ARRAY3D_DESCRIPTOR& full) { return full; }

// `array` is where the handle goes, and not null if there are bytes.
template <class Array, class Create>
CUresult create_within_limit(Space space, const Array* array, std::uint64_t bytes, Create create) {
  Reservation reserved;
  if (!reserved.take_here(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  return swap::with_room_here(bytes, [&] {
    const CUresult result = create();
    if (result != CUDA_SUCCESS) return result;
    count_here({.space = space,
                .kind = MemoryKind::array,
                .id = number_of(*array),
                .bytes = bytes,
                .reserved = reserved.hand_over()});
    return result;
  });
}

template <class Descriptor, class Create>
CUresult create_array(CUarray* array, const Descriptor* descriptor, Create create) {
  if (array == nullptr || descriptor == nullptr) return create(array, descriptor);
  return create_within_limit(Space::array, array, array_bytes(widened(*descriptor)),
                             [&] { return create(array, descriptor); });
}

template <class Destroy>
CUresult destroy_array(Space space, std::uint64_t array, Destroy destroy) {
  const Birth birth = books().birth_of(space, array);
  const CUresult result = free_through(space, array, destroy);
  if (result == CUDA_SUCCESS) sparse::destroyed(space, array, birth);
  return result;
}

template <Row row>
CUresult map_arrays(CUarrayMapInfo* operations, unsigned count, CUstream stream) {
  const CUresult result = GatedCall<row>::call(operations, count, stream);
  if (result == CUDA_SUCCESS && operations != nullptr) sparse::done(operations, count);
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuArrayCreate(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* pAllocateArray) {
  return create_array(pHandle, pAllocateArray, real<Row::cuArrayCreate>());
}

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  return create_array(pHandle, pAllocateArray, real<Row::cuArrayCreate_v2>());
}

CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* pAllocateArray) {
  return create_array(pHandle, pAllocateArray, real<Row::cuArray3DCreate>());
}

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  return create_array(pHandle, pAllocateArray, real<Row::cuArray3DCreate_v2>());
}

CUresult cuArrayDestroy(CUarray hArray) {
  return destroy_array(Space::array, number_of(hArray),
                       [&] { return real<Row::cuArrayDestroy>()(hArray); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  const auto create = [&] {
    return real<Row::cuMipmappedArrayCreate>()(pHandle, pMipmappedArrayDesc, numMipmapLevels);
  };
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) return create();
  return create_within_limit(Space::mipmapped_array, pHandle,
                             mipmapped_array_bytes(*pMipmappedArrayDesc, numMipmapLevels), create);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  return destroy_array(Space::mipmapped_array, number_of(hMipmappedArray),
                       [&] { return real<Row::cuMipmappedArrayDestroy>()(hMipmappedArray); });
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo* mapInfoList, unsigned int count, CUstream hStream) {
  return map_arrays<Row::cuMemMapArrayAsync>(mapInfoList, count, hStream);
}
CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo* mapInfoList, unsigned int count,
                                 CUstream hStream) {
  return map_arrays<Row::cuMemMapArrayAsync_ptsz>(mapInfoList, count, hStream);
}

}  // namespace nvs::hooks
