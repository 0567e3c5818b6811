// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/pointer_answers.h"

#include "interposer/memory/hook_support.h"
#include "interposer/memory/put_answer.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/view_answers.h"

namespace nvs::interposer::memory {
namespace {

// Apart from the driver's, which count up from one.
constexpr std::uint64_t kOurIds = std::uint64_t{1} << 62U;

// Another one each time that an address is allocated: caches of registrations go by it.
std::uint64_t id_of(const swap::Allocated& allocated) {
  return kOurIds + books().birth_of(Space::address, allocated.base);
}

// What depends on the allocation and not on what kind of memory it is. False: nothing does.
bool put_own(const swap::Named& named, CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put<CUdeviceptr>(out, named.allocated.base);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put<std::size_t>(out, named.allocated.bytes);
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      put<CUdeviceptr>(out, named.mapping_base);
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      put<std::size_t>(out, named.mapping_bytes);
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      put<std::uint64_t>(out, id_of(named.allocated));
      return true;
    default:
      return false;
  }
}

// What the driver said of the sample, made true for the address.
CUresult correct(const swap::Named& named, std::uint64_t address, CUpointer_attribute attribute,
                 void* out) {
  if (put_own(named, attribute, out)) return CUDA_SUCCESS;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put<CUdeviceptr>(out, address);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put<std::uint64_t>(out, named.allocated.pool);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      // Pools are shared as a whole, and those that can be are the driver's.
      return named.allocated.pool != 0 ? put_bool(out, false) : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      // The pages are not of the kind that other devices may hold on to: they move.
      return put_bool(out, false);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      // Whoever sets it pins the memory, so the driver can be asked.
      if (!named.is_pinned) return CUDA_SUCCESS;
      return real<Row::cuPointerGetAttribute>()(out, attribute, address);
    default:
      return CUDA_SUCCESS;
  }
}

// The same where the driver has no memory for a sample, as far as that goes.
CUresult answer_alone(const swap::Named& named, std::uint64_t address,
                      CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put<std::uint64_t>(out, named.allocated.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(out, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(out, named.allocated.device);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put_bool(out, true);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put_bool(out, named.allocated.pool == 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put_bool(out, false);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<unsigned>(out, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<std::uint64_t>(out, 0);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      put_bool(out, false);
      return correct(named, address, attribute, out);
    default:
      if (attribute > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE || attribute == 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      return correct(named, address, attribute, out);
  }
}

}  // namespace

CUresult pointer_attribute(const swap::Named& named, std::uint64_t address,
                           CUpointer_attribute attribute, void* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (named.is_view) return view_attribute(named, address, attribute, out);
  if (put_own(named, attribute, out)) return CUDA_SUCCESS;
  const CUdeviceptr sample = sample_in(named.allocated.context);
  if (sample == 0) return answer_alone(named, address, attribute, out);
  const CUresult result = real<Row::cuPointerGetAttribute>()(out, attribute, sample);
  return result == CUDA_SUCCESS ? correct(named, address, attribute, out) : result;
}

// The driver refuses the whole list for one wrong entry, and leaves nothing for those that this
// memory does not have.
CUresult pointer_attributes(const swap::Named& named, std::uint64_t address, unsigned count,
                            CUpointer_attribute* attributes, void** outs) {
  const CUdeviceptr sample = sample_in(named.allocated.context);
  const CUresult result = real<Row::cuPointerGetAttributes>()(count, attributes, outs, sample);
  if (result != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count; ++i) {
    if (named.is_view) {
      view_attribute(named, address, attributes[i], outs[i]);
    } else if (sample == 0) {
      answer_alone(named, address, attributes[i], outs[i]);
    } else {
      correct(named, address, attributes[i], outs[i]);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace nvs::interposer::memory
