// SPDX-License-Identifier: Apache-2.0
// Graphs of work, the captures that build them, and their executable form.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_sim/objects/context.h"

namespace nvs::sim {

struct Graph;
struct Function;
struct GraphSlot;

/// A kernel with its arguments, as a launch or a graph node keeps it.
struct KernelWork {
  std::shared_ptr<Function> function;
  Context* context = nullptr;  // where a node of a graph runs, wherever that is launched
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<std::byte> arguments;
};

struct MemsetWork {
  CUdeviceptr dst = 0;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element_size = 1;
  std::size_t width = 0;  // in elements
  std::size_t height = 1;
};

struct CopyWork {
  CUDA_MEMCPY3D geometry{};
  /// A small pageable source is taken at the call; the copy then reads this.
  std::shared_ptr<std::vector<std::byte>> staged;
};

struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
  /// Set for cuStreamAddCallback, which also gets the stream.
  CUstreamCallback callback = nullptr;
  CUstream stream = nullptr;
};

struct EmptyWork {};
struct EventRecordWork {
  std::shared_ptr<Event> event;
};
struct EventWaitWork {
  std::shared_ptr<Event> event;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};

/// Memory of a graph (work/graph_memory.h): allocated at the addresses of a slot, and freed there.
struct MemAllocWork {
  std::shared_ptr<GraphSlot> slot;
  std::uint64_t bytes = 0;
  unsigned gpu = 0;
};
struct MemFreeWork {
  std::shared_ptr<GraphSlot> slot;
};

/// Values to write to memory or to wait for there, one after the other.
struct ValueStep {
  CUdeviceptr address = 0;
  std::uint64_t value = 0;
  unsigned bytes = 4;
  bool waits = false;
  unsigned flags = 0;  // of the wait
};
struct ValueWork {
  std::vector<ValueStep> steps;
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, MemsetWork, HostWork, EventRecordWork,
                          EventWaitWork, ChildWork, ValueWork, MemAllocWork, MemFreeWork>;

struct GraphNode {
  CUgraphNode handle = nullptr;
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> after;         // what it depends on
  std::vector<void*> argument_pointers;  // into a kernel's arguments, for who asks for them
  CUgraphNode cloned_from = nullptr;
  bool enabled = true;
};

/// A slot of a graph. `freed_by` is the node that freed what was last allocated there; null if
/// none does.
struct SlotUse {
  std::shared_ptr<GraphSlot> slot;
  unsigned gpu = 0;
  const GraphNode* freed_by = nullptr;
};

struct Graph {
  CUgraph handle = nullptr;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // in the order of their creation
  bool is_child = false;
  std::vector<SlotUse> slots;
  std::weak_ptr<struct GraphExec> exec;  // the last one that was made from it
};

struct GraphExec {
  CUgraphExec handle = nullptr;
  std::shared_ptr<Graph> graph;  // a copy of its own
  unsigned long long flags = 0;
  OpPtr last;  // the end of its last launch: launches of one exec follow each other
};

struct Capture {
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned long thread = 0;
  unsigned long long id = 0;
  bool invalidated = false;
  bool to_existing_graph = false;
  std::vector<Stream*> streams;  // all that take part
};

}  // namespace nvs::sim
