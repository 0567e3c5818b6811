// SPDX-License-Identifier: Apache-2.0
// Hooks: arrays and mipmapped arrays. The driver gives no addresses for them and tells no sizes.
#include "interposer/memory/array_size.h"
#include "interposer/memory/hook_support.h"

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

template <class Descriptor>
CUresult count_array(CUresult result, const CUarray* array, const Descriptor* descriptor) {
  if (result != CUDA_SUCCESS || array == nullptr || descriptor == nullptr) return result;
  count_here({.space = Space::array,
              .kind = MemoryKind::array,
              .id = number_of(*array),
              .bytes = array_bytes(widened(*descriptor))});
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuArrayCreate(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* pAllocateArray) {
  return count_array(real<Row::cuArrayCreate>()(pHandle, pAllocateArray), pHandle, pAllocateArray);
}

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  return count_array(real<Row::cuArrayCreate_v2>()(pHandle, pAllocateArray), pHandle,
                     pAllocateArray);
}

CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* pAllocateArray) {
  return count_array(real<Row::cuArray3DCreate>()(pHandle, pAllocateArray), pHandle,
                     pAllocateArray);
}

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  return count_array(real<Row::cuArray3DCreate_v2>()(pHandle, pAllocateArray), pHandle,
                     pAllocateArray);
}

CUresult cuArrayDestroy(CUarray hArray) {
  return free_through(Space::array, number_of(hArray),
                      [&] { return real<Row::cuArrayDestroy>()(hArray); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  const CUresult result =
      real<Row::cuMipmappedArrayCreate>()(pHandle, pMipmappedArrayDesc, numMipmapLevels);
  if (result != CUDA_SUCCESS || pHandle == nullptr || pMipmappedArrayDesc == nullptr) return result;
  count_here({.space = Space::mipmapped_array,
              .kind = MemoryKind::array,
              .id = number_of(*pHandle),
              .bytes = mipmapped_array_bytes(*pMipmappedArrayDesc, numMipmapLevels)});
  return result;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  return free_through(Space::mipmapped_array, number_of(hMipmappedArray),
                      [&] { return real<Row::cuMipmappedArrayDestroy>()(hMipmappedArray); });
}

}  // namespace nvs::hooks
