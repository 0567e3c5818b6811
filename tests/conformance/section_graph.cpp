// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/graph_kit.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void create(Run& run) {
  CUgraph graph = nullptr;
  CALL("flags 1", cuGraphCreate, &graph, 1);
  CALL("null", cuGraphCreate, nullptr, 0);
  CALL("flags 0", cuGraphCreate, &graph, 0);
  show_shape(run, "an empty graph", graph);
  CALL("null", cuGraphDestroy, nullptr);
  CALL("", cuGraphDestroy, graph);
}

void empty(Run& run) {
  CUgraph graph = new_graph(run);
  CUgraphExec exec = nullptr;
  CALL("empty graph", cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("empty graph", cuGraphUpload, exec, nullptr);
  CALL("empty graph, null stream", cuGraphLaunch, exec, nullptr);
  CALL("empty graph, per-thread stream", cuGraphLaunch, exec, CU_STREAM_PER_THREAD);
  CALL("empty graph", cuGraphLaunch_ptsz, exec, nullptr);
  CALL("null", cuGraphLaunch, nullptr, nullptr);
  CALL("", cuCtxSynchronize);
  CALL("", cuGraphExecDestroy, exec);
  CALL("null", cuGraphExecDestroy, nullptr);
  CALL("null result", cuGraphInstantiateWithFlags, nullptr, graph, 0);
  CALL("null graph", cuGraphInstantiateWithFlags, &exec, nullptr, 0);
  for (const unsigned flags : {1U, 2U, 4U, 8U, 0x10U, 0x100U}) {
    exec = nullptr;
    if (CALL(cat("flags ", flags), cuGraphInstantiateWithFlags, &exec, graph, flags) !=
        CUDA_SUCCESS)
      continue;
    cuuint64_t got = 77;
    CALL(cat("created with ", flags), cuGraphExecGetFlags, exec, &got);
    run.show(cat("flags of ", flags), got);
    SETUP(cuGraphExecDestroy, exec);
  }
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  CALL("empty graph", cuGraphInstantiateWithParams, &exec, graph, &params);
  run.show("result in the parameters", params.result_out);
  char log[256] = "";
  CUgraphNode error_node = nullptr;
  CALL("empty graph", cuGraphInstantiate_v2, &exec, graph, &error_node, log, sizeof log);
}

void dependencies(Run& run) {
  CUgraph graph = new_graph(run);
  const CUgraphNode a = empty_node(run, graph);
  const CUgraphNode b = empty_node(run, graph);
  CUgraphNode c = nullptr;
  const CUgraphNode both[] = {a, b};
  CALL("after a and b", cuGraphAddEmptyNode, &c, graph, both, 2);
  show_shape(run, "a diamond's half", graph);
  CALL("a before b", cuGraphAddDependencies_v2, graph, &a, &b, nullptr, 1);
  CALL("a before b again", cuGraphAddDependencies_v2, graph, &a, &b, nullptr, 1);
  CALL("c before a, a cycle", cuGraphAddDependencies_v2, graph, &c, &a, nullptr, 1);
  show_shape(run, "a graph that had a cycle", graph);
  CUgraphExec exec = nullptr;
  CALL("perhaps with a cycle", cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("c before a", cuGraphRemoveDependencies_v2, graph, &c, &a, nullptr, 1);
  CALL("a before itself", cuGraphAddDependencies_v2, graph, &a, &a, nullptr, 1);
  CALL("not there", cuGraphRemoveDependencies_v2, graph, &b, &a, nullptr, 1);
  CALL("a before b", cuGraphRemoveDependencies_v2, graph, &a, &b, nullptr, 1);
  CALL("none", cuGraphAddDependencies_v2, graph, nullptr, nullptr, nullptr, 0);
  CALL("null arrays", cuGraphAddDependencies_v2, graph, nullptr, nullptr, nullptr, 1);
  CUgraphNode twice[] = {a, a};
  CUgraphNode d = nullptr;
  CALL("after a twice", cuGraphAddEmptyNode, &d, graph, twice, 2);
  CALL("null array, count 1", cuGraphAddEmptyNode, &d, graph, nullptr, 1);
  CALL("null node", cuGraphAddEmptyNode, nullptr, graph, nullptr, 0);
  CALL("null graph", cuGraphAddEmptyNode, &d, nullptr, nullptr, 0);
  CUgraph other = new_graph(run);
  const CUgraphNode foreign = empty_node(run, other);
  CALL("after a node of another graph", cuGraphAddEmptyNode, &d, graph, &foreign, 1);
  CALL("across graphs", cuGraphAddDependencies_v2, graph, &a, &foreign, nullptr, 1);
  show_shape(run, "the graph at the end", graph);
}

void lists(Run& run) {
  CUgraph graph = new_graph(run);
  const CUgraphNode a = empty_node(run, graph);
  CUgraphNode b = nullptr;
  SETUP(cuGraphAddEmptyNode, &b, graph, &a, 1);
  CUgraphNode nodes[4] = {};
  std::size_t count = 4;
  CALL("room for 4", cuGraphGetNodes, graph, nodes, &count);
  run.show("nodes with room for 4", count);
  run.show("rest is null", nodes[2] == nullptr && nodes[3] == nullptr);
  count = 1;
  CALL("room for 1", cuGraphGetNodes, graph, nodes, &count);
  run.show("nodes with room for 1", count);
  count = 4;
  CALL("room for 4", cuGraphGetRootNodes, graph, nodes, &count);
  run.show("roots", count);
  run.show("a is the root", nodes[0] == a);
  CUgraphNode from[4] = {};
  CUgraphNode to[4] = {};
  CUgraphEdgeData data[4] = {};
  count = 4;
  CALL("room for 4", cuGraphGetEdges_v2, graph, from, to, data, &count);
  run.show("edges", count);
  run.show("a before b", from[0] == a && to[0] == b);
  count = 4;
  CALL("from alone", cuGraphGetEdges_v2, graph, from, nullptr, nullptr, &count);
  count = 4;
  CALL("of b", cuGraphNodeGetDependencies_v2, b, nodes, data, &count);
  run.show("dependencies of b", cat(count, nodes[0] == a ? ", a" : ""));
  CALL("of a, count", cuGraphNodeGetDependentNodes_v2, a, nullptr, nullptr, &count);
  run.show("dependents of a", count);
  CALL("null count", cuGraphGetNodes, graph, nodes, nullptr);
  CALL("null graph", cuGraphGetNodes, nullptr, nodes, &count);
  CALL("null node", cuGraphNodeGetDependencies_v2, nullptr, nullptr, nullptr, &count);
  CALL("b", cuGraphDestroyNode, b);
  show_shape(run, "the graph without b", graph);
  CALL("null", cuGraphDestroyNode, nullptr);
  CUgraphNodeType type{};
  CALL("empty node", cuGraphNodeGetType, a, &type);
  run.show("type of an empty node", type);
  CALL("null result", cuGraphNodeGetType, a, nullptr);
  CALL("null node", cuGraphNodeGetType, nullptr, &type);
}

void clone(Run& run) {
  CUgraph graph = new_graph(run);
  const CUgraphNode a = empty_node(run, graph);
  CUgraph copy = nullptr;
  CALL("", cuGraphClone, &copy, graph);
  show_shape(run, "the clone", copy);
  CUgraphNode twin = nullptr;
  CALL("a", cuGraphNodeFindInClone, &twin, a, copy);
  run.show("twin is another node", twin != nullptr && twin != a);
  const CUgraphNode late = empty_node(run, graph);
  CALL("node added later", cuGraphNodeFindInClone, &twin, late, copy);
  CALL("no clone", cuGraphNodeFindInClone, &twin, a, graph);
  CALL("null", cuGraphClone, nullptr, graph);
  CALL("null graph", cuGraphClone, &copy, nullptr);
  CALL("the original", cuGraphDestroy, graph);
  show_shape(run, "the clone without its original", copy);
}

void update(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  FillArguments first(address, 1, 16);
  FillArguments second(address, 2, 16);
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS params = fill_params(kernels.fill, first);
  SETUP(cuGraphAddKernelNode_v2, &node, graph, nullptr, 0, &params);
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CUgraph same_shape = new_graph(run);
  params = fill_params(kernels.fill, second);
  SETUP(cuGraphAddKernelNode_v2, &node, same_shape, nullptr, 0, &params);
  CUgraphExecUpdateResultInfo info{};
  CALL("same shape", cuGraphExecUpdate_v2, exec, same_shape, &info);
  run.show("result for the same shape", info.result);
  CALL("updated", cuGraphLaunch, exec, nullptr);
  run.show("updated value", read_float(run, address, 3) == 2.0F);
  CUgraph bigger = new_graph(run);
  SETUP(cuGraphAddKernelNode_v2, &node, bigger, nullptr, 0, &params);
  SETUP(cuGraphAddEmptyNode, &node, bigger, nullptr, 0);
  CALL("one node more", cuGraphExecUpdate_v2, exec, bigger, &info);
  run.show("result for one node more", info.result);
  CUgraph other_type = new_graph(run);
  SETUP(cuGraphAddEmptyNode, &node, other_type, nullptr, 0);
  CALL("other node type", cuGraphExecUpdate_v2, exec, other_type, &info);
  run.show("result for another node type", info.result);
  CUgraph other_function = new_graph(run);
  params = fill_params(kernels.step, second);
  SETUP(cuGraphAddKernelNode_v2, &node, other_function, nullptr, 0, &params);
  CALL("other function", cuGraphExecUpdate_v2, exec, other_function, &info);
  run.show("result for another function", info.result);
  CALL("after failures", cuGraphLaunch, exec, nullptr);
  CALL("", cuCtxSynchronize);
  CALL("null info", cuGraphExecUpdate_v2, exec, same_shape, nullptr);
}

void topology_update(Run& run) {
  CUgraph graph = new_graph(run);
  const CUgraphNode a = empty_node(run, graph);
  CUgraphNode b = nullptr;
  SETUP(cuGraphAddEmptyNode, &b, graph, &a, 1);
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CUgraph loose = new_graph(run);
  empty_node(run, loose);
  empty_node(run, loose);
  CUgraphExecUpdateResultInfo info{};
  CALL("edge gone", cuGraphExecUpdate_v2, exec, loose, &info);
  run.show("result for an edge gone", info.result);
}

}  // namespace

Section graph_section() {
  return {"graph",
          Start::kContext,
          {
              {"create", create},
              {"empty", empty},
              {"lists", lists},
              {"clone", clone},
              {"update", update},
              {"topology_update", topology_update},
              {"dependencies", dependencies, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
