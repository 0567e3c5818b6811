// SPDX-License-Identifier: Apache-2.0
// Graph steps look at graphs again and again and build the same few nodes; this says both once.
#pragma once

#include "tests/conformance/fixture.h"

namespace nvs::conformance {

inline CUgraph new_graph(Run& run) {
  CUgraph graph = nullptr;
  SETUP(cuGraphCreate, &graph, 0);
  return graph;
}

inline CUgraphNode empty_node(Run& run, CUgraph graph) {
  CUgraphNode node = nullptr;
  SETUP(cuGraphAddEmptyNode, &node, graph, nullptr, 0);
  return node;
}

// Parameters of a node that runs nvs_fill or nvs_step; `arguments` must outlive the call that takes
// them.
inline CUDA_KERNEL_NODE_PARAMS fill_params(CUfunction function, FillArguments& arguments) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = function;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = 256;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments.pointers;
  return params;
}

inline CUDA_MEMSET_NODE_PARAMS memset_params(CUdeviceptr address, unsigned value,
                                             std::size_t bytes) {
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = address;
  params.value = value;
  params.elementSize = 1;
  params.width = bytes;
  params.height = 1;
  return params;
}

inline CUDA_MEMCPY3D copy_params(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  CUDA_MEMCPY3D params{};
  params.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  params.srcDevice = source;
  params.srcPitch = bytes;
  params.srcHeight = 1;
  params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  params.dstDevice = destination;
  params.dstPitch = bytes;
  params.dstHeight = 1;
  params.WidthInBytes = bytes;
  params.Height = 1;
  params.Depth = 1;
  return params;
}

// Writes the numbers of nodes, roots and edges.
inline void show_shape(Run& run, const char* what, CUgraph graph) {
  std::size_t nodes = 77;
  std::size_t roots = 77;
  std::size_t edges = 77;
  CALL(what, cuGraphGetNodes, graph, nullptr, &nodes);
  CALL(what, cuGraphGetRootNodes, graph, nullptr, &roots);
  CALL(what, cuGraphGetEdges_v2, graph, nullptr, nullptr, nullptr, &edges);
  run.show(cat("nodes, roots, edges of ", what), cat(nodes, ", ", roots, ", ", edges));
}

}  // namespace nvs::conformance
