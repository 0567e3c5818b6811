// SPDX-License-Identifier: Apache-2.0
// Hooks: what an address is. For memory of ours the answers come from our tables, since the driver
// knows only pages, and none at all while they are away. All other addresses are the driver's.
#include "interposer/gate/inside.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/pointer_answers.h"
#include "interposer/memory/swap/solid.h"
#include "interposer/memory/swap/view_calls.h"
#include "interposer/memory/unified/allocate.h"

namespace nvs::interposer::memory {
namespace {

using swap::Named;
using swap::Whose;
using swap::whose;

// Whether the context is such that the driver would have looked at the address at all.
bool has_looked(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND ||
         result == CUDA_ERROR_INVALID_VALUE;
}

// The same for what kind of memory it is, which of Unified Memory the driver would tell.
Whose kind_known_by(std::uint64_t address, Named& named) {
  const Whose owner = whose(address, named);
  return owner == Whose::drivers && unified::find(address, named) ? Whose::ours : owner;
}

// Memory that the program created is the driver's own from then on.
CUresult set_sync_memops_of_view(std::uint64_t address, const void* value) {
  const CUresult made = swap::make_solid_in({address, 1});
  if (made != CUDA_SUCCESS) return made;
  return real<Row::cuPointerSetAttribute>()(value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
}

// Whoever sets this has other devices read and write the memory behind the driver's back.
CUresult set_sync_memops(const Named& named, std::uint64_t address, const void* value) {
  return gate::inside([&] {
    const auto set = real<Row::cuPointerSetAttribute>();
    const std::uint64_t end = named.allocated.base + named.allocated.bytes;
    if (!swap::pin(address)) return CUDA_ERROR_INVALID_VALUE;
    swap::PinnedChunk chunk;
    for (std::uint64_t at = named.allocated.base; at < end; at = chunk.address + chunk.bytes) {
      if (!swap::pinned_chunk(at, chunk)) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = set(value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

// Addresses of 32 bits, which ours never have.
CUresult cuMemGetAddressRange(CUdeviceptr_v1* pbase, unsigned int* psize, CUdeviceptr_v1 dptr) {
  return real<Row::cuMemGetAddressRange>()(pbase, psize, dptr);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Named named;
  const Whose owner = whose(dptr, named);
  if (owner == Whose::drivers) return real<Row::cuMemGetAddressRange_v2>()(pbase, psize, dptr);
  const CUresult result = real<Row::cuMemGetAddressRange_v2>()(nullptr, nullptr, dptr);
  if (!has_looked(result)) return result;
  if (owner == Whose::nobodys) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = named.allocated.base;
  if (psize != nullptr) *psize = named.allocated.bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Named named;
  switch (kind_known_by(ptr, named)) {
    case Whose::ours:
      return pointer_attribute(named, ptr, attribute, data);
    case Whose::nobodys:
      return CUDA_ERROR_INVALID_VALUE;
    case Whose::drivers:
      break;
  }
  return real<Row::cuPointerGetAttribute>()(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
  Named named;
  const Whose owner = kind_known_by(ptr, named);
  if (owner == Whose::ours) {
    return pointer_attributes(named, ptr, numAttributes, attributes, data);
  }
  // An address of nobody's is to the driver as null is.
  return real<Row::cuPointerGetAttributes>()(numAttributes, attributes, data,
                                             owner == Whose::nobodys ? 0 : ptr);
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Named named;
  switch (whose(ptr, named)) {
    case Whose::ours:
      if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) break;
      if (named.is_borrowed) break;
      if (named.is_view) return set_sync_memops_of_view(ptr, value);
      return set_sync_memops(named, ptr, value);
    case Whose::nobodys:
      return CUDA_ERROR_INVALID_VALUE;
    case Whose::drivers:
      break;
  }
  return real<Row::cuPointerSetAttribute>()(value, attribute, ptr);
}

// The file that comes of it holds on to all the pages.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr dptr, size_t size,
                                       CUmemRangeHandleType handleType, unsigned long long flags) {
  const auto get = real<Row::cuMemGetHandleForAddressRange>();
  if (interposer::swap::has_views({dptr, size})) {
    const CUresult made = interposer::swap::make_solid_in({dptr, size});
    if (made != CUDA_SUCCESS) return made;
  }
  Named named;
  if (whose(dptr, named) != Whose::ours) return get(handle, dptr, size, handleType, flags);
  return interposer::gate::inside([&] {
    const CUresult result = get(handle, dptr, size, handleType, flags);
    if (result == CUDA_SUCCESS) interposer::swap::pin_all({dptr, size});
    return result;
  });
}

}  // namespace nvs::hooks
