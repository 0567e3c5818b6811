// SPDX-License-Identifier: Apache-2.0
// The memory nodes of graphs. A graph takes its memory when it is launched, and from nobody that we
// could ask then; so it counts against the tenant's limit from the moment its node is added until
// the graph and what was instantiated from it are gone, and what it leaves allocated until that is
// freed (ADR-0032). Nothing here is on the way of a launch.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/graph_room.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/reservation.h"
#include "interposer/session/captures.h"

namespace nvs::interposer::memory::graphs {

// Whether any graph has memory nodes. If not, none of what follows needs to be told anything.
bool is_any();

// The graph that the stream's work is captured into; null if it is not, or no longer, captured.
CUgraph captured_by(CUstream stream);

enum class Made : std::uint8_t { by_call, by_capture };

// An allocation that is about to become a node.
class NewNode {
 public:
  NewNode(CUgraph graph, int device, std::uint64_t bytes, Made made);

  // False: it would be more than the tenant may have, whatever its address.
  bool reserve();
  // The driver has added it, at this address. What the program is told: that there is no memory, if
  // only the address showed that it is too much. Then nobody can take the node away again, and the
  // graph can no more be instantiated.
  CUresult added(std::uint64_t address);

 private:
  CUresult spoil();
  void write_down(std::uint64_t address, std::uint64_t fresh);

  std::uint64_t graph_;
  int device_;
  std::uint64_t bytes_;
  Made made_;
  Reservation reserved_;
};

// `native()` adds the node, `address()` tells its address afterwards.
template <class Native, class Address>
CUresult add_through(NewNode& node, Native native, Address address) {
  if (!node.reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = native();
  return result == CUDA_SUCCESS ? node.added(address()) : result;
}

// Nodes that free, and graphs that become part of another one.
void free_added(CUgraph graph, std::uint64_t address);
void moved(CUgraph child, CUgraph parent);

// A node of any type.
template <class Native>
CUresult add_any(CUgraph graph, CUgraphNodeParams* params, Native native) {
  if (params == nullptr) return native();
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    NewNode node(graph, device_at(params->alloc.poolProps.location), params->alloc.bytesize,
                 Made::by_call);
    return add_through(node, native, [&] { return params->alloc.dptr; });
  }
  const CUresult result = native();
  if (result != CUDA_SUCCESS || !is_any()) return result;
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) free_added(graph, params->free.dptr);
  const bool is_move = params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
                       params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if (is_move) moved(params->graph.graph, graph);
  return result;
}

bool may_be_instantiated(CUgraph graph);
// With what was promised for it.
void instantiated(CUgraph graph, CUgraphExec exec, Promise promise);

// A call that destroys a graph or an executable one. They are forgotten before it, since another
// thread may get the handle the moment the driver has it back, and remembered if it fails.
class Destroying {
 public:
  explicit Destroying(CUgraph graph);
  explicit Destroying(CUgraphExec exec);
  void ended(CUresult result);

 private:
  enum class What : std::uint8_t { graph, exec };
  What what_;
  std::uint64_t handle_;
};

// A capture is over, or its stream is gone. Null: nobody got the graph.
void capture_ended(captures::Number number, CUgraph graph);

// What graphs that are gone have left, and others have freed since: of that nobody tells us, so the
// driver is asked before anything is refused. Whether there was any.
bool forget_freed(int gpu);

void start_over_in_child();

}  // namespace nvs::interposer::memory::graphs
