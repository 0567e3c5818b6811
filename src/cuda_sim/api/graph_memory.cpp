// SPDX-License-Identifier: Apache-2.0
// Entry points: nodes that allocate and free, and the memory that graphs have of a GPU.
#include "cuda_sim/work/graph_memory.h"

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"

using namespace nvs::sim;

namespace nvs::sim {

CUresult add_allocation(const NewNode& request, CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& props = params.poolProps;
  const bool is_pinned = props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (!is_pinned || props.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return add_checked(request, [&](Driver& d, Graph& graph, const auto& after, Work& work) {
    const auto gpu = d.gpu_of(props.location.id);
    if (!gpu) return CUDA_ERROR_INVALID_VALUE;
    MemAllocWork made;
    const CUresult result = allocation_work(d, graph, after, *gpu, params.bytesize, made);
    if (result != CUDA_SUCCESS) return result;
    params.dptr = made.slot->begin;
    work = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult add_free(const NewNode& request, CUdeviceptr address) {
  return add_checked(request, [&](Driver&, Graph& graph, const auto&, Work& work) {
    MemFreeWork made;
    const CUresult result = free_work(graph, address, made);
    work = std::move(made);
    return result;
  });
}

}  // namespace nvs::sim

NVS_SIM(cuGraphAddMemAllocNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         CUDA_MEM_ALLOC_NODE_PARAMS* params),
        out, graph, after, count, params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_allocation({out, graph, after, count}, *params);
}

NVS_SIM(cuGraphAddMemFreeNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         CUdeviceptr address),
        out, graph, after, count, address) {
  return add_free({out, graph, after, count}, address);
}

NVS_SIM(cuGraphMemAllocNodeGetParams, (CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out), handle,
        out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  const auto* work = node ? std::get_if<MemAllocWork>(&node->work) : nullptr;
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  out->poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, d.device_of(work->gpu)};
  out->bytesize = work->bytes;
  out->dptr = work->slot->begin;
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphMemFreeNodeGetParams, (CUgraphNode handle, CUdeviceptr* out), handle, out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  const auto* work = node ? std::get_if<MemFreeWork>(&node->work) : nullptr;
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->slot->begin;
  return CUDA_SUCCESS;
}

// Measured on an H200: what is used is what is reserved, until it is trimmed.
NVS_SIM(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attribute, void* out),
        device, attribute, out) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const MemoryPool& pool = graph_pool(d, *gpu);
  const bool is_high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                       attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  *static_cast<cuuint64_t*>(out) = is_high ? pool.reserved_high() : pool.reserved();
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceSetGraphMemAttribute,
        (CUdevice device, CUgraphMem_attribute attribute, void* value), device, attribute, value) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  const bool is_high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                       attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  if (value == nullptr || !is_high || *static_cast<cuuint64_t*>(value) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  graph_pool(d, *gpu).forget_reserved_high();
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGraphMemTrim, (CUdevice device), device) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  graph_pool(d, *gpu).trim_to(0);
  return CUDA_SUCCESS;
}
