// SPDX-License-Identifier: Apache-2.0
// Entry points: adding nodes of each kind, and reading and changing their parameters.
#include <utility>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"
#include "cuda_sim/api/work_rules.h"
#include "cuda_sim/work/copy_op.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace nvs::sim {

CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1& p) {
  return {.func = p.func,
          .gridDimX = p.gridDimX,
          .gridDimY = p.gridDimY,
          .gridDimZ = p.gridDimZ,
          .blockDimX = p.blockDimX,
          .blockDimY = p.blockDimY,
          .blockDimZ = p.blockDimZ,
          .sharedMemBytes = p.sharedMemBytes,
          .kernelParams = p.kernelParams,
          .extra = p.extra,
          .kern = nullptr,
          .ctx = nullptr};
}

// The one that was asked for counts only for what belongs to none.
CUresult context_of_node(Driver& d, const KernelWork& work, CUcontext wanted, Context*& out) {
  std::shared_ptr<Context> context;
  if (work.function->module != nullptr) {
    out = work.function->module->context;
    return CUDA_SUCCESS;
  }
  if (wanted != nullptr) {
    context = d.contexts.find(wanted);
  } else if (const CUresult result = context_in_any_state(d, context); result != CUDA_SUCCESS) {
    return result;
  }
  out = context.get();
  return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult kernel_work(Driver& d, const CUDA_KERNEL_NODE_PARAMS& p, Work& out) {
  KernelWork work;
  const CUfunction function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  const LaunchShape shape{{p.gridDimX, p.gridDimY, p.gridDimZ},
                          {p.blockDimX, p.blockDimY, p.blockDimZ},
                          p.sharedMemBytes};
  if (const CUresult result = make_kernel_work(d, function, shape, p.kernelParams, p.extra, work);
      result != CUDA_SUCCESS) {
    return result;
  }
  const CUresult result = context_of_node(d, work, p.ctx, work.context);
  out = std::move(work);
  return result;
}

CUresult copy_work(Driver& d, const CUDA_MEMCPY3D& p, Work& out) {
  if (p.WidthInBytes == 0 || p.Height == 0 || p.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  CopyPlan plan;
  if (const CUresult result = plan_copy(d, 0, p, plan); result != CUDA_SUCCESS) return result;
  out = CopyWork{.geometry = p, .staged = nullptr};
  return CUDA_SUCCESS;
}

CUresult memset_work(Driver& d, const CUDA_MEMSET_NODE_PARAMS& p, Work& out) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (p.width == 0 || p.height == 0) return CUDA_ERROR_INVALID_VALUE;
  const MemsetWork work{.dst = p.dst,
                        .pitch = p.pitch,
                        .value = p.value,
                        .element_size = p.elementSize,
                        .width = p.width,
                        .height = p.height};
  if (const CUresult result = check_memset(d, work); result != CUDA_SUCCESS) return result;
  out = work;
  return CUDA_SUCCESS;
}

CUresult host_work(const CUDA_HOST_NODE_PARAMS& p, Work& out) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = HostWork{.function = p.fn, .data = p.userData};
  return CUDA_SUCCESS;
}

CUresult event_of(Driver& d, CUevent handle, std::shared_ptr<Event>& event) {
  event = d.events.find(handle);
  return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult child_work(Driver& d, CUgraph parent, CUgraph child, Work& out) {
  const auto source = d.graphs.find(child);
  if (!source || child == parent) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*source)) return CUDA_ERROR_NOT_SUPPORTED;
  auto copy = clone_graph(d, *source);
  copy->is_child = true;
  out = ChildWork{std::move(copy)};
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim

namespace {

// The node, if it does that kind of work.
template <class W>
W* work_of(Driver& d, CUgraphNode handle) {
  const auto node = d.nodes.find(handle);
  return node ? std::get_if<W>(&node->work) : nullptr;
}

template <class W, class F>
CUresult change(CUgraphNode handle, const void* params, F&& make) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  W* current = work_of<W>(d, handle);
  if (current == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult result = make(d, work); result != CUDA_SUCCESS) return result;
  *current = std::get<W>(std::move(work));
  return CUDA_SUCCESS;
}

CUresult read_kernel(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS& out) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  auto* work = node ? std::get_if<KernelWork>(&node->work) : nullptr;
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node->argument_pointers.clear();
  for (const PtxParameter& parameter : work->function->entry->parameters) {
    node->argument_pointers.push_back(work->arguments.data() + parameter.offset);
  }
  out = {};
  out.func = work->function->handle;
  out.ctx = work->context->handle;  // assumed: of a function, CUDA documents that it is ignored
  out.gridDimX = work->grid[0];
  out.gridDimY = work->grid[1];
  out.gridDimZ = work->grid[2];
  out.blockDimX = work->block[0];
  out.blockDimY = work->block[1];
  out.blockDimZ = work->block[2];
  out.sharedMemBytes = work->shared_bytes;
  out.kernelParams = node->argument_pointers.data();
  return CUDA_SUCCESS;
}

template <class W>
CUresult read_event(CUgraphNode handle, CUevent* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const W* work = work_of<W>(d, handle);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->event->handle;
  return CUDA_SUCCESS;
}

template <class W>
CUresult change_event(CUgraphNode handle, CUevent event_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  W* work = work_of<W>(d, handle);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return event_of(d, event_handle, work->event);
}

}  // namespace

NVS_SIM(cuGraphAddEmptyNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count), out, graph,
        after, count) {
  return add_checked({out, graph, after, count}, [](Driver&, Work&) { return CUDA_SUCCESS; });
}

NVS_SIM(cuGraphAddKernelNode_v2,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         const CUDA_KERNEL_NODE_PARAMS* params),
        out, graph, after, count, params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_checked({out, graph, after, count},
                     [&](Driver& d, Work& work) { return kernel_work(d, *params, work); });
}

NVS_SIM(cuGraphAddKernelNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         const CUDA_KERNEL_NODE_PARAMS_v1* params),
        out, graph, after, count, params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_checked({out, graph, after, count},
                     [&](Driver& d, Work& work) { return kernel_work(d, widen(*params), work); });
}

NVS_SIM(cuGraphAddMemcpyNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         const CUDA_MEMCPY3D* params, CUcontext context),
        out, graph, after, count, params, context) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static_cast<void>(context);
  return add_checked({out, graph, after, count},
                     [&](Driver& d, Work& work) { return copy_work(d, *params, work); });
}

NVS_SIM(cuGraphAddMemsetNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context),
        out, graph, after, count, params, context) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static_cast<void>(context);
  return add_checked({out, graph, after, count},
                     [&](Driver& d, Work& work) { return memset_work(d, *params, work); });
}

NVS_SIM(cuGraphAddHostNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count,
         const CUDA_HOST_NODE_PARAMS* params),
        out, graph, after, count, params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_checked({out, graph, after, count},
                     [&](Driver&, Work& work) { return host_work(*params, work); });
}

NVS_SIM(cuGraphAddEventRecordNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event),
        out, graph, after, count, event) {
  return add_checked({out, graph, after, count}, [&](Driver& d, Work& work) {
    EventRecordWork record;
    const CUresult result = event_of(d, event, record.event);
    work = record;
    return result;
  });
}

NVS_SIM(cuGraphAddEventWaitNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event),
        out, graph, after, count, event) {
  return add_checked({out, graph, after, count}, [&](Driver& d, Work& work) {
    EventWaitWork wait;
    const CUresult result = event_of(d, event, wait.event);
    work = wait;
    return result;
  });
}

NVS_SIM(cuGraphAddChildGraphNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* after, size_t count, CUgraph child),
        out, graph, after, count, child) {
  return add_checked({out, graph, after, count},
                     [&](Driver& d, Work& work) { return child_work(d, graph, child, work); });
}

NVS_SIM(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out), node,
        out) {
  return out == nullptr ? CUDA_ERROR_INVALID_VALUE : read_kernel(node, *out);
}

NVS_SIM(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out), node,
        out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS wide{};
  const CUresult result = read_kernel(node, wide);
  if (result != CUDA_SUCCESS) return result;
  *out = {wide.func,      wide.gridDimX,  wide.gridDimY,       wide.gridDimZ,     wide.blockDimX,
          wide.blockDimY, wide.blockDimZ, wide.sharedMemBytes, wide.kernelParams, wide.extra};
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params),
        node, params) {
  return change<KernelWork>(node, params,
                            [&](Driver& d, Work& work) { return kernel_work(d, *params, work); });
}

NVS_SIM(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params),
        node, params) {
  return change<KernelWork>(
      node, params, [&](Driver& d, Work& work) { return kernel_work(d, widen(*params), work); });
}

NVS_SIM(cuGraphMemcpyNodeGetParams, (CUgraphNode node, CUDA_MEMCPY3D* out), node, out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const CopyWork* work = work_of<CopyWork>(d, node);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->geometry;
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphMemcpyNodeSetParams, (CUgraphNode node, const CUDA_MEMCPY3D* params), node, params) {
  return change<CopyWork>(node, params,
                          [&](Driver& d, Work& work) { return copy_work(d, *params, work); });
}

NVS_SIM(cuGraphMemsetNodeGetParams, (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out), node, out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const MemsetWork* work = work_of<MemsetWork>(d, node);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {work->dst, work->pitch, work->value, work->element_size, work->width, work->height};
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphMemsetNodeSetParams, (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params), node,
        params) {
  return change<MemsetWork>(node, params,
                            [&](Driver& d, Work& work) { return memset_work(d, *params, work); });
}

NVS_SIM(cuGraphHostNodeGetParams, (CUgraphNode node, CUDA_HOST_NODE_PARAMS* out), node, out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const HostWork* work = work_of<HostWork>(d, node);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {work->function, work->data};
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphHostNodeSetParams, (CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params), node,
        params) {
  return change<HostWork>(node, params,
                          [&](Driver&, Work& work) { return host_work(*params, work); });
}

NVS_SIM(cuGraphEventRecordNodeGetEvent, (CUgraphNode node, CUevent* out), node, out) {
  return read_event<EventRecordWork>(node, out);
}
NVS_SIM(cuGraphEventRecordNodeSetEvent, (CUgraphNode node, CUevent event), node, event) {
  return change_event<EventRecordWork>(node, event);
}
NVS_SIM(cuGraphEventWaitNodeGetEvent, (CUgraphNode node, CUevent* out), node, out) {
  return read_event<EventWaitWork>(node, out);
}
NVS_SIM(cuGraphEventWaitNodeSetEvent, (CUgraphNode node, CUevent event), node, event) {
  return change_event<EventWaitWork>(node, event);
}

NVS_SIM(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* out), node, out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const ChildWork* work = work_of<ChildWork>(d, node);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = work->graph->handle;
  return CUDA_SUCCESS;
}
