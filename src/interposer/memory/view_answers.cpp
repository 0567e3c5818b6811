// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/view_answers.h"

#include "interposer/exports/real.h"
#include "interposer/memory/put_answer.h"

namespace nvs::interposer::memory {
namespace {

// Apart from the driver's, which count up from one, and from those of other memory of ours.
constexpr std::uint64_t kViewIds = std::uint64_t{1} << 61U;

CUresult put_place(const swap::Named& named, std::uint64_t address, CUpointer_attribute attribute,
                   void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put<CUcontext>(out, nullptr);  // it is the device's
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(out, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(out, named.allocated.device);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (named.view.access == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_VALUE;
      return put<CUdeviceptr>(out, address);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:  // measured on an H200: the whole reservation
      return put<CUdeviceptr>(out, named.view.reserved.begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put<std::size_t>(out, named.view.reserved.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put<CUdeviceptr>(out, named.mapping_base);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put<std::size_t>(out, named.mapping_bytes);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put<std::uint64_t>(out, kViewIds + named.view.number);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult view_attribute(const swap::Named& named, std::uint64_t address,
                        CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      // Whoever sets it has the pages stay, so the driver can be asked.
      if (named.is_pinned) return real<Row::cuPointerGetAttribute>()(out, attribute, address);
      return put_bool(out, false);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put_bool(out, true);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<unsigned>(out, named.view.access);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<std::uint64_t>(out, named.view.handle_types);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put<CUmemoryPool>(out, nullptr);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:  // other devices must not hold on to it
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put_bool(out, false);
    default:
      return put_place(named, address, attribute, out);
  }
}

}  // namespace nvs::interposer::memory
