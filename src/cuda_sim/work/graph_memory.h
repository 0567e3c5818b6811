// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate. A node has its addresses from the moment it is added; a later node
// whose predecessors free them gets the same ones. The memory behind them comes when the graph is
// uploaded or launched, from a pool of the GPU that gives nothing back before it is told to, and
// is there until the graph has run, or what it left is freed. Everything here is called with the
// driver's lock held.
#pragma once

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

/// Addresses, and what is behind them while anybody uses them. They go with the last graph, launch
/// or memory that has them.
struct GraphSlot {
  GraphSlot(Driver& owner, std::uint64_t first, std::uint64_t room)
      : driver(owner), begin(first), size(room) {}
  ~GraphSlot() { driver.space.release(begin, size); }
  GraphSlot(const GraphSlot&) = delete;
  GraphSlot& operator=(const GraphSlot&) = delete;

  Driver& driver;
  const std::uint64_t begin;
  const std::uint64_t size;
  PoolPlace place;
  std::uint64_t bytes = 0;  // of the place
  unsigned users = 0;       // launches that have not ended, and the program if it was left to it
  bool is_left = false;     // the graph has run, and does not free it
};

bool has_memory_nodes(const Graph& graph);

/// The work of a node of `graph` that comes after others. CUDA_ERROR_OUT_OF_MEMORY for more than
/// the GPU has; the memory is not looked for yet.
CUresult allocation_work(Driver& driver, Graph& graph, const std::vector<GraphNode*>& after,
                         unsigned gpu, std::uint64_t bytes, MemAllocWork& out);
/// A graph frees what it allocates itself; memory of other graphs is not simulated there.
CUresult free_work(const Graph& graph, std::uint64_t address, MemFreeWork& out);
/// The node of that work was added.
void free_added(const GraphNode& node, const MemFreeWork& work);

/// Whether a graph has those addresses, launched or not.
bool is_graph_memory(const Driver& driver, std::uint64_t begin, std::uint64_t size);

/// Takes what a launch needs; `launched` after the launch itself.
CUresult prepare_launch(Driver& driver, Stream& stream, GraphExec& exec);
void launched(Stream& stream, const GraphExec& exec);
CUresult upload(Driver& driver, Stream& stream, GraphExec& exec);

/// Frees what a graph has left: when the stream gets there, or at once.
CUresult free_left(Mapping& mapping, Stream* stream);

OpPtr make_allocation(const MemAllocWork& work);

MemoryPool& graph_pool(Driver& driver, unsigned gpu);

}  // namespace nvs::sim
