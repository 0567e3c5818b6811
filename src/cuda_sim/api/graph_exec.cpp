// SPDX-License-Identifier: Apache-2.0
// Entry points: executable graphs: making, launching and updating them.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace nvs::sim {

GraphNode* twin_of(const GraphExec& exec, CUgraphNode original) {
  for (const auto& node : exec.graph->nodes) {
    if (node->cloned_from == original) return node.get();
  }
  return nullptr;
}

}  // namespace nvs::sim

namespace {

constexpr unsigned long long kInstantiateFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                                 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                                 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

bool has_circle(const Graph& graph) {
  if (in_order(graph).size() != graph.nodes.size()) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    const auto* child = std::get_if<ChildWork>(&node->work);
    return child != nullptr && has_circle(*child->graph);
  });
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  if (out == nullptr || (flags & ~kInstantiateFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  if (context_in_any_state(d, context) == CUDA_SUCCESS && context->sticky != CUDA_SUCCESS) {
    return context->sticky;
  }
  const auto graph = d.graphs.find(handle);
  if (!graph || has_circle(*graph)) return CUDA_ERROR_INVALID_VALUE;
  const bool from_device = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
  if (from_device && graph->nodes.empty()) return CUDA_ERROR_INVALID_VALUE;
  // Measured on an H200: there is one at a time.
  if (has_memory_nodes(*graph) && !graph->exec.expired()) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_shared<GraphExec>();
  graph->exec = exec;
  exec->graph = clone_graph(d, *graph);
  // Measured on an H200: the use of priorities is not among the flags one can read back.
  exec->flags =
      flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  exec->handle = d.execs.add(exec);
  *out = exec->handle;
  return CUDA_SUCCESS;
}

bool can_be_disabled(const GraphNode& node) {
  return std::holds_alternative<KernelWork>(node.work) ||
         std::holds_alternative<CopyWork>(node.work) ||
         std::holds_alternative<MemsetWork>(node.work);
}

// No update moves a kernel to another context, and so to another GPU.
bool same_context(const Work& ours, const Work& theirs) {
  const auto* mine = std::get_if<KernelWork>(&ours);
  const auto* other = std::get_if<KernelWork>(&theirs);
  return mine == nullptr || other == nullptr || mine->context == other->context;
}

template <class W, class F>
CUresult change(CUgraphExec exec_handle, CUgraphNode node_handle, const void* params, F&& make) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(exec_handle);
  GraphNode* node = exec ? twin_of(*exec, node_handle) : nullptr;
  if (node == nullptr || !std::holds_alternative<W>(node->work)) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult result = make(d, work); result != CUDA_SUCCESS) return result;
  if (!same_context(node->work, work)) return CUDA_ERROR_INVALID_VALUE;
  node->work = std::move(work);
  return CUDA_SUCCESS;
}

bool same_edges(const GraphNode& ours, const GraphNode& theirs, const Graph& our_graph,
                const Graph& their_graph) {
  if (ours.after.size() != theirs.after.size()) return false;
  const auto place = [](const Graph& graph, const GraphNode* node) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                        [&](const auto& candidate) { return candidate.get() == node; }) -
           graph.nodes.begin();
  };
  return std::equal(ours.after.begin(), ours.after.end(), theirs.after.begin(),
                    [&](const GraphNode* a, const GraphNode* b) {
                      return place(our_graph, a) == place(their_graph, b);
                    });
}

CUresult update(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo& info) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(exec_handle);
  const auto graph = d.graphs.find(graph_handle);
  if (!exec || !graph) return CUDA_ERROR_INVALID_VALUE;
  info = {};
  const auto fail = [&](CUgraphExecUpdateResult why, const GraphNode* node) {
    info.result = why;
    info.errorNode = node == nullptr ? nullptr : node->handle;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  auto& ours = exec->graph->nodes;
  const auto& theirs = graph->nodes;
  if (ours.size() != theirs.size()) {
    return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (type_of(ours[i]->work) != type_of(theirs[i]->work)) {
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, theirs[i].get());
    }
    if (!same_edges(*ours[i], *theirs[i], *exec->graph, *graph)) {
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, theirs[i].get());
    }
    if (!same_context(ours[i]->work, theirs[i]->work)) {
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, theirs[i].get());
    }
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ours[i]->work = theirs[i]->work;
    ours[i]->cloned_from = theirs[i]->handle;
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags),
        out, graph, flags) {
  return instantiate(out, graph, flags);
}

NVS_SIM_STREAM(cuGraphInstantiateWithParams, _ptsz,
               (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params), out,
               graph, params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Uploading takes no time here, so that the stream for it makes no difference.
  const CUresult result =
      instantiate(out, graph, params->flags & ~cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD});
  params->hErrNode_out = nullptr;
  params->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

NVS_SIM(cuGraphInstantiate_v2,
        (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_size),
        out, graph, error_node, log, log_size) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_size > 0) *log = '\0';
  return instantiate(out, graph, 0);
}

NVS_SIM(cuGraphInstantiate,
        (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_size),
        out, graph, error_node, log, log_size) {
  return cuGraphInstantiate_v2(out, graph, error_node, log, log_size);
}

NVS_SIM(cuGraphExecDestroy, (CUgraphExec handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  drop_graph(d, *exec->graph);
  d.execs.remove(handle);
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphExecGetFlags, (CUgraphExec handle, cuuint64_t* flags), handle, flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuGraphLaunch, _ptsz, (CUgraphExec handle, CUstream stream_handle), handle,
               stream_handle) {
  Driver& d = driver();
  {
    std::unique_lock guard{d.lock};
    NVS_SIM_FIND_STREAM(stream, stream_handle)
    const auto exec = d.execs.find(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) return invalidate(*stream->capture);
    stream->context->engine->wait_for_room(guard);
    if (const CUresult result = prepare_launch(d, *stream, *exec); result != CUDA_SUCCESS) {
      return result;
    }
    launch_graph(d, *stream, *exec);
    launched(*stream, *exec);
  }
  d.spend(d.machine->model().launch_ns);
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuGraphUpload, _ptsz, (CUgraphExec handle, CUstream stream_handle), handle,
               stream_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, stream_handle)
  const auto exec = d.execs.find(handle);
  return exec ? upload(d, *stream, *exec) : CUDA_ERROR_INVALID_VALUE;
}

NVS_SIM(cuGraphExecUpdate_v2,
        (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* result), exec, graph,
        result) {
  CUgraphExecUpdateResultInfo unwanted{};
  return update(exec, graph, result == nullptr ? unwanted : *result);
}

NVS_SIM(cuGraphExecUpdate,
        (CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* result),
        exec, graph, error_node, result) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult outcome = update(exec, graph, info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return outcome;
}

NVS_SIM(cuGraphExecKernelNodeSetParams_v2,
        (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params), exec, node,
        params) {
  return change<KernelWork>(exec, node, params,
                            [&](Driver& d, Work& work) { return kernel_work(d, *params, work); });
}

NVS_SIM(cuGraphExecKernelNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params), exec, node,
        params) {
  return change<KernelWork>(exec, node, params, [&](Driver& d, Work& work) {
    return kernel_work(d, widen(*params), work);
  });
}

NVS_SIM(cuGraphExecMemcpyNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params, CUcontext context), exec,
        node, params, context) {
  static_cast<void>(context);
  return change<CopyWork>(exec, node, params,
                          [&](Driver& d, Work& work) { return copy_work(d, *params, work); });
}

NVS_SIM(cuGraphExecMemsetNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
         CUcontext context),
        exec, node, params, context) {
  static_cast<void>(context);
  return change<MemsetWork>(exec, node, params,
                            [&](Driver& d, Work& work) { return memset_work(d, *params, work); });
}

NVS_SIM(cuGraphExecHostNodeSetParams,
        (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params), exec, node,
        params) {
  return change<HostWork>(exec, node, params,
                          [&](Driver&, Work& work) { return host_work(*params, work); });
}

NVS_SIM(cuGraphNodeSetEnabled,
        (CUgraphExec exec_handle, CUgraphNode node_handle, unsigned int enabled), exec_handle,
        node_handle, enabled) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(exec_handle);
  GraphNode* node = exec ? twin_of(*exec, node_handle) : nullptr;
  if (node == nullptr || !can_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  node->enabled = enabled != 0;
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphNodeGetEnabled,
        (CUgraphExec exec_handle, CUgraphNode node_handle, unsigned int* enabled), exec_handle,
        node_handle, enabled) {
  if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto exec = d.execs.find(exec_handle);
  const GraphNode* node = exec ? twin_of(*exec, node_handle) : nullptr;
  if (node == nullptr || !can_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  *enabled = node->enabled ? 1 : 0;
  return CUDA_SUCCESS;
}
