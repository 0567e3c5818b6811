// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/graph_left.h"

#include "interposer/exports/in_context.h"
#include "interposer/memory/hook_support.h"

namespace nvs::interposer::memory::graphs {

namespace {

CUresult find_range(const Left& left, CUdeviceptr& base, std::size_t& size) {
  auto* ask = real<Row::cuMemGetAddressRange_v2>();
  if (ask == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const bool is_in_context = current_context().value != 0;
  const std::uint64_t primary = is_in_context ? 0 : books().primary_of(left.device);
  if (primary == 0) return ask(&base, &size, left.address);
  const InContext inside(reinterpret_cast<CUcontext>(primary));
  return inside.is_set() ? ask(&base, &size, left.address) : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

bool is_there(const Left& left) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  switch (find_range(left, base, size)) {
    case CUDA_SUCCESS:
      return base == left.address && size == left.bytes;
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NOT_SUPPORTED:
      return false;
    default:
      return true;
  }
}

void keep(const Left& left, std::uint64_t& set_aside) {
  const std::uint64_t bytes = left.bytes < set_aside ? left.bytes : set_aside;
  set_aside -= bytes;
  const Allocation allocation{.space = Space::address,
                              .kind = MemoryKind::graph,
                              .id = left.address,
                              .bytes = left.bytes,
                              .owner = device_owner(left.device),
                              .asked = left.bytes,
                              .reserved = {left.device, bytes}};
  books().allocated(allocation, left.device);
}

}  // namespace nvs::interposer::memory::graphs
