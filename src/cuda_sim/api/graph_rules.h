// SPDX-License-Identifier: Apache-2.0
// What the entry points of graphs have in common. All with the driver's lock held.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda_sim/api/call.h"
#include "cuda_sim/work/submit.h"

namespace nvs::sim {

/// Looks up the nodes a new one is to depend on; they must be of that graph.
CUresult find_dependencies(Driver& d, const Graph& graph, const CUgraphNode* handles,
                           std::size_t count, std::vector<GraphNode*>& out);

/// A copy of a graph, node by node. Its nodes know what they were cloned from.
std::shared_ptr<Graph> clone_graph(Driver& d, const Graph& source);

void drop_graph(Driver& d, const Graph& graph);

CUgraphNodeType type_of(const Work& work);

/// Checked work from the parameters of each kind of node.
CUresult kernel_work(Driver& d, const CUDA_KERNEL_NODE_PARAMS& params, Work& out);
CUresult copy_work(Driver& d, const CUDA_MEMCPY3D& params, Work& out);
CUresult memset_work(Driver& d, const CUDA_MEMSET_NODE_PARAMS& params, Work& out);
CUresult host_work(const CUDA_HOST_NODE_PARAMS& params, Work& out);

CUresult event_of(Driver& d, CUevent handle, std::shared_ptr<Event>& event);
/// A child is a copy, which belongs to its node.
CUresult child_work(Driver& d, CUgraph parent, CUgraph child, Work& out);

/// The executable graph's own copy of a node of the graph it was made from, or null.
GraphNode* twin_of(const GraphExec& exec, CUgraphNode original);

/// The parameters of a kernel node in today's layout.
CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1& params);

/// Where a new node goes.
struct NewNode {
  CUgraphNode* out;
  CUgraph graph;
  const CUgraphNode* after;
  std::size_t count;
};

/// Nodes that allocate and free.
CUresult add_allocation(const NewNode& request, CUDA_MEM_ALLOC_NODE_PARAMS& params);
CUresult add_free(const NewNode& request, CUdeviceptr address);

/// Adds a node. `make` turns the caller's parameters into work, under the lock; it may want to know
/// for which graph, and after which nodes.
template <class F>
CUresult add_checked(const NewNode& request, F&& make) {
  if (request.out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto graph = d.graphs.find(request.graph);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> after;
  if (const CUresult result = find_dependencies(d, *graph, request.after, request.count, after);
      result != CUDA_SUCCESS) {
    return result;
  }
  Work work;
  CUresult result = CUDA_SUCCESS;
  if constexpr (std::is_invocable_v<F, Driver&, Work&>) {
    result = make(d, work);
  } else {
    result = make(d, *graph, after, work);
  }
  if (result != CUDA_SUCCESS) return result;
  *request.out = add_node(d, *graph, std::move(work), std::move(after)).handle;
  return CUDA_SUCCESS;
}

/// Fills the caller's arrays as all the listing calls do: with null arrays, only the count.
template <class T>
CUresult list(const std::vector<T>& all, T* out, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out == nullptr) {
    *count = all.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : T{};
  *count = std::min(*count, all.size());
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim
