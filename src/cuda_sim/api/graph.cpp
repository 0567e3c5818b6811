// SPDX-License-Identifier: Apache-2.0
// Entry points: graphs, their nodes and edges.
#include <algorithm>
#include <map>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace nvs::sim {

CUresult find_dependencies(Driver& d, const Graph& graph, const CUgraphNode* handles,
                           std::size_t count, std::vector<GraphNode*>& out) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = d.nodes.find(handles[i]);
    if (!node || node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    if (std::find(out.begin(), out.end(), node.get()) != out.end()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    out.push_back(node.get());
  }
  return CUDA_SUCCESS;
}

std::shared_ptr<Graph> clone_graph(Driver& d, const Graph& source) {
  auto copy = std::make_shared<Graph>();
  copy->handle = d.graphs.add(copy);
  std::map<const GraphNode*, GraphNode*> twins;
  for (const auto& node : source.nodes) {
    Work work = node->work;
    if (auto* child = std::get_if<ChildWork>(&work)) {
      child->graph = clone_graph(d, *child->graph);
      child->graph->is_child = true;
    }
    GraphNode& twin = add_node(d, *copy, std::move(work), {});
    twin.cloned_from = node->handle;
    twin.enabled = node->enabled;
    twins[node.get()] = &twin;
  }
  for (const auto& node : source.nodes) {
    for (const GraphNode* before : node->after) {
      twins[node.get()]->after.push_back(twins[before]);
    }
  }
  copy->slots = source.slots;
  return copy;
}

void drop_graph(Driver& d, const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (const auto* child = std::get_if<ChildWork>(&node->work)) drop_graph(d, *child->graph);
    d.nodes.remove(node->handle);
  }
  d.graphs.remove(graph.handle);
}

CUgraphNodeType type_of(const Work& work) {
  constexpr CUgraphNodeType kTypes[] = {
      CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,  CU_GRAPH_NODE_TYPE_MEMCPY,
      CU_GRAPH_NODE_TYPE_MEMSET,     CU_GRAPH_NODE_TYPE_HOST,    CU_GRAPH_NODE_TYPE_EVENT_RECORD,
      CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_GRAPH,   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
      CU_GRAPH_NODE_TYPE_MEM_ALLOC,  CU_GRAPH_NODE_TYPE_MEM_FREE};
  static_assert(std::size(kTypes) == std::variant_size_v<Work>);
  return kTypes[work.index()];
}

}  // namespace nvs::sim

namespace {

// Measured on an H200: only an edge from a node to itself is refused; a longer circle is found when
// the graph is instantiated.
CUresult connect(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                 std::size_t count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const auto before = d.nodes.find(from[i]);
    const auto node = d.nodes.find(to[i]);
    if (!before || !node || before->graph != graph.get() || node->graph != graph.get()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto& after = node->after;
    const bool there = std::find(after.begin(), after.end(), before.get()) != after.end();
    if (there || before == node) return CUDA_ERROR_INVALID_VALUE;
    after.push_back(before.get());
  }
  return CUDA_SUCCESS;
}

CUresult disconnect(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                    std::size_t count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const auto before = d.nodes.find(from[i]);
    const auto node = d.nodes.find(to[i]);
    if (!before || !node) return CUDA_ERROR_INVALID_VALUE;
    if (std::erase(node->after, before.get()) == 0) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
               std::size_t* count) {
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> sources;
  std::vector<CUgraphNode> targets;
  for (const auto& node : graph->nodes) {
    for (const GraphNode* before : node->after) {
      sources.push_back(before->handle);
      targets.push_back(node->handle);
    }
  }
  std::size_t room = *count;
  if (data != nullptr) std::fill_n(data, std::min(room, sources.size()), CUgraphEdgeData{});
  list(targets, to, &room);
  return list(sources, from, count);
}

std::vector<CUgraphNode> handles_of(const std::vector<GraphNode*>& nodes) {
  std::vector<CUgraphNode> handles;
  for (const GraphNode* node : nodes) handles.push_back(node->handle);
  return handles;
}

CUresult dependencies(CUgraphNode handle, CUgraphNode* out, std::size_t* count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  return list(handles_of(node->after), out, count);
}

CUresult dependents(CUgraphNode handle, CUgraphNode* out, std::size_t* count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  for (const auto& other : node->graph->nodes) {
    const auto& after = other->after;
    if (std::find(after.begin(), after.end(), node.get()) != after.end()) {
      found.push_back(other.get());
    }
  }
  return list(handles_of(found), out, count);
}

}  // namespace

NVS_SIM(cuGraphCreate, (CUgraph * out, unsigned int flags), out, flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  auto graph = std::make_shared<Graph>();
  graph->handle = d.graphs.add(graph);
  *out = graph->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphDestroy, (CUgraph handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph || graph->is_child) return CUDA_ERROR_INVALID_VALUE;
  drop_graph(d, *graph);
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphClone, (CUgraph * out, CUgraph handle), out, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*graph)) return CUDA_ERROR_NOT_SUPPORTED;
  *out = clone_graph(d, *graph)->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphNodeFindInClone, (CUgraphNode * out, CUgraphNode original, CUgraph clone), out,
        original, clone) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(clone);
  if (!graph || !d.nodes.find(original)) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : graph->nodes) {
    if (node->cloned_from != original) continue;
    *out = node->handle;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

NVS_SIM(cuGraphDestroyNode, (CUgraphNode handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  if (has_memory_nodes(*node->graph)) return CUDA_ERROR_NOT_SUPPORTED;
  for (const auto& other : node->graph->nodes) std::erase(other->after, node.get());
  std::erase(node->graph->nodes, node);
  d.nodes.remove(handle);
  return CUDA_SUCCESS;
}

NVS_SIM(cuGraphGetNodes, (CUgraph handle, CUgraphNode* out, size_t* count), handle, out, count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> all;
  for (const auto& node : graph->nodes) all.push_back(node->handle);
  return list(all, out, count);
}

NVS_SIM(cuGraphGetRootNodes, (CUgraph handle, CUgraphNode* out, size_t* count), handle, out,
        count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> roots;
  for (const auto& node : graph->nodes) {
    if (node->after.empty()) roots.push_back(node->handle);
  }
  return list(roots, out, count);
}

NVS_SIM(cuGraphGetEdges, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count), graph,
        from, to, count) {
  return edges(graph, from, to, nullptr, count);
}

NVS_SIM(cuGraphGetEdges_v2,
        (CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count),
        graph, from, to, data, count) {
  return edges(graph, from, to, data, count);
}

NVS_SIM(cuGraphAddDependencies,
        (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count), graph, from,
        to, count) {
  return connect(graph, from, to, count);
}

NVS_SIM(cuGraphAddDependencies_v2,
        (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
         size_t count),
        graph, from, to, data, count) {
  static_cast<void>(data);  // only programmatic launches use it
  return connect(graph, from, to, count);
}

NVS_SIM(cuGraphRemoveDependencies,
        (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count), graph, from,
        to, count) {
  return disconnect(graph, from, to, count);
}

NVS_SIM(cuGraphRemoveDependencies_v2,
        (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
         size_t count),
        graph, from, to, data, count) {
  static_cast<void>(data);
  return disconnect(graph, from, to, count);
}

NVS_SIM(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode* out, size_t* count), node, out,
        count) {
  return dependencies(node, out, count);
}

NVS_SIM(cuGraphNodeGetDependencies_v2,
        (CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count), node, out, data,
        count) {
  if (data != nullptr && count != nullptr) std::fill_n(data, *count, CUgraphEdgeData{});
  return dependencies(node, out, count);
}

NVS_SIM(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode* out, size_t* count), node,
        out, count) {
  return dependents(node, out, count);
}

NVS_SIM(cuGraphNodeGetDependentNodes_v2,
        (CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data, size_t* count), node, out, data,
        count) {
  if (data != nullptr && count != nullptr) std::fill_n(data, *count, CUgraphEdgeData{});
  return dependents(node, out, count);
}

NVS_SIM(cuGraphNodeGetType, (CUgraphNode handle, CUgraphNodeType* type), handle, type) {
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto node = d.nodes.find(handle);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  *type = type_of(node->work);
  return CUDA_SUCCESS;
}
