// SPDX-License-Identifier: Apache-2.0
// Entry points: nodes of any kind, described by one structure.
#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"

using namespace nvs::sim;

namespace {

CUresult kernel_work_of(Driver& d, const CUDA_KERNEL_NODE_PARAMS_v3& p, Work& out) {
  const CUDA_KERNEL_NODE_PARAMS params{
      .func = p.func,
      .gridDimX = p.gridDimX,
      .gridDimY = p.gridDimY,
      .gridDimZ = p.gridDimZ,
      .blockDimX = p.blockDimX,
      .blockDimY = p.blockDimY,
      .blockDimZ = p.blockDimZ,
      .sharedMemBytes = p.sharedMemBytes,
      .kernelParams = p.kernelParams,
      .extra = p.extra,
      .kern = p.kern,
      .ctx = p.ctx,
  };
  return kernel_work(d, params, out);
}

template <class W>
CUresult event_work(Driver& d, CUevent handle, Work& out) {
  W work;
  const CUresult result = event_of(d, handle, work.event);
  out = work;
  return result;
}

// The work that the parameters describe, for a node of `graph`. With the lock held.
CUresult work_of(Driver& d, CUgraph graph, const CUgraphNodeParams& p, Work& out) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return kernel_work_of(d, p.kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return copy_work(d, p.memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return memset_work(d,
                         {p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize,
                          p.memset.width, p.memset.height},
                         out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return host_work({p.host.fn, p.host.userData}, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return child_work(d, graph, p.graph.graph, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return event_work<EventWaitWork>(d, p.eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return event_work<EventRecordWork>(d, p.eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult add(const NewNode& request, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) return add_free(request, params->free.dptr);
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted{params->alloc.poolProps, params->alloc.accessDescs,
                                      params->alloc.accessDescCount, params->alloc.bytesize, 0};
    const CUresult result = add_allocation(request, wanted);
    if (result == CUDA_SUCCESS) params->alloc.dptr = wanted.dptr;
    return result;
  }
  return add_checked(
      request, [&](Driver& d, Work& work) { return work_of(d, request.graph, *params, work); });
}

// With the lock held. A node stays of its kind.
CUresult change(Driver& d, GraphNode* node, const CUgraphNodeParams* params) {
  if (node == nullptr || params == nullptr || type_of(node->work) != params->type) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Work work;
  const CUresult result = work_of(d, node->graph->handle, *params, work);
  if (result == CUDA_SUCCESS) node->work = std::move(work);
  return result;
}

}  // namespace

NVS_SIM(cuGraphAddNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         CUgraphNodeParams* params),
        out, graph, after, count, params) {
  return add({out, graph, after, count}, params);
}

NVS_SIM(cuGraphAddNode_v2,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* data,
         size_t count, CUgraphNodeParams* params),
        out, graph, after, data, count, params) {
  static_cast<void>(data);  // only programmatic launches use it
  return add({out, graph, after, count}, params);
}

NVS_SIM(cuGraphNodeSetParams, (CUgraphNode handle, CUgraphNodeParams* params), handle, params) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  return change(d, d.nodes.find(handle).get(), params);
}

NVS_SIM(cuGraphExecNodeSetParams,
        (CUgraphExec exec_handle, CUgraphNode handle, CUgraphNodeParams* params), exec_handle,
        handle, params) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(exec_handle);
  return change(d, exec ? twin_of(*exec, handle) : nullptr, params);
}
