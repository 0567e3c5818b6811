// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/graph_left.h"

#include "interposer/exports/in_context.h"
#include "interposer/memory/hook_support.h"

namespace nvs::interposer::memory::graphs {

bool is_there(const Left& left) {
  auto* ask = real<Row::cuMemGetAddressRange_v2>();
  if (ask == nullptr) return false;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const auto look = [&] {
    const CUresult result = ask(&base, &size, left.address);
    return result == CUDA_SUCCESS && base == left.address && size == left.bytes;
  };
  if (current_context().value != 0) return look();
  if (left.context == 0) return false;
  const InContext inside(reinterpret_cast<CUcontext>(left.context));
  return inside.is_set() && look();
}

void keep(const Left& left, std::uint64_t& set_aside) {
  const std::uint64_t bytes = left.bytes < set_aside ? left.bytes : set_aside;
  set_aside -= bytes;
  const Allocation allocation{.space = Space::address,
                              .kind = MemoryKind::graph,
                              .id = left.address,
                              .bytes = left.bytes,
                              .owner = {OwnerType::context, left.context},
                              .asked = left.bytes,
                              .reserved = {left.device, bytes}};
  if (!books().allocated(allocation)) books().allocated(allocation, left.device);
}

}  // namespace nvs::interposer::memory::graphs
