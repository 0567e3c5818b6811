// SPDX-License-Identifier: Apache-2.0
// Hooks: graphs with memory nodes, from the node to the end of the last who can launch it. Nodes
// that are described by one structure for all types are in events/event_hooks.cpp.
#include "interposer/gate/gated_call.h"
#include "interposer/gate/graph_gpus.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {
namespace {

template <Row row, class... Arguments>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, Arguments... arguments) {
  const auto native = [&] {
    const CUresult result = GatedCall<row>::call(exec, graph, arguments...);
    if (result == CUDA_SUCCESS && exec != nullptr) gate::graph_instantiated(graph, *exec);
    return result;
  };
  if (!graphs::is_any()) return native();
  if (!graphs::may_be_instantiated(graph)) return CUDA_ERROR_OUT_OF_MEMORY;
  const graphs::Promise promise = graphs::take_room_for(graph);
  const CUresult result = native();
  if (result == CUDA_SUCCESS && exec != nullptr) {
    graphs::instantiated(graph, *exec, promise);
  } else {
    graphs::end_promise(promise);
  }
  return result;
}

template <class Handle, class Native>
CUresult destroy_graph(Handle handle, Native native) {
  if (!graphs::is_any()) return native();
  graphs::Destroying destroying(handle);
  const CUresult result = native();
  destroying.ended(result);
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const auto native = [&] {
    return real<Row::cuGraphAddMemAllocNode>()(phGraphNode, hGraph, dependencies, numDependencies,
                                               nodeParams);
  };
  if (nodeParams == nullptr) return native();
  graphs::NewNode node(hGraph, device_at(nodeParams->poolProps.location), nodeParams->bytesize,
                       graphs::Made::by_call);
  return graphs::add_through(node, native, [&] { return nodeParams->dptr; });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                               const CUgraphNode* dependencies, size_t numDependencies,
                               CUdeviceptr dptr) {
  const CUresult result =
      real<Row::cuGraphAddMemFreeNode>()(phGraphNode, hGraph, dependencies, numDependencies, dptr);
  if (result == CUDA_SUCCESS && graphs::is_any()) graphs::free_added(hGraph, dptr);
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return instantiate<Row::cuGraphInstantiate>(phGraphExec, hGraph, phErrorNode, logBuffer,
                                              bufferSize);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* logBuffer, size_t bufferSize) {
  return instantiate<Row::cuGraphInstantiate_v2>(phGraphExec, hGraph, phErrorNode, logBuffer,
                                                 bufferSize);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                     unsigned long long flags) {
  return instantiate<Row::cuGraphInstantiateWithFlags>(phGraphExec, hGraph, flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  return instantiate<Row::cuGraphInstantiateWithParams>(phGraphExec, hGraph, instantiateParams);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  return instantiate<Row::cuGraphInstantiateWithParams_ptsz>(phGraphExec, hGraph,
                                                             instantiateParams);
}

// Others may have what it gives back.
CUresult cuDeviceGraphMemTrim(CUdevice device) {
  const CUresult result = real<Row::cuDeviceGraphMemTrim>()(device);
  if (result != CUDA_SUCCESS || !graphs::may_have_any(device)) return result;
  graphs::look_at_driver(device);
  interposer::session::tell_holds(device);
  return result;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  return destroy_graph(hGraph, [&] { return real<Row::cuGraphDestroy>()(hGraph); });
}
CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  interposer::gate::graph_ends(hGraphExec);
  return destroy_graph(hGraphExec, [&] { return real<Row::cuGraphExecDestroy>()(hGraphExec); });
}

}  // namespace nvs::hooks
