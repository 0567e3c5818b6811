// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/graph_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cuda_sim/work/submit.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kSlotUnit = 4096;

void reach(const std::vector<GraphNode*>& ends, std::set<const GraphNode*>& reached) {
  for (const GraphNode* node : ends) {
    if (reached.insert(node).second) reach(node->after, reached);
  }
}

void release(const std::shared_ptr<GraphSlot>& slot) {
  if (--slot->users != 0) return;
  const PoolPlace place = std::exchange(slot->place, {});
  graph_pool(slot->driver, place.physical->gpu())
      .give_back(*place.physical, place.offset, slot->bytes, {});
  slot->driver.space.unmap(slot->begin);
}

// The launch has ended, or the stream has got to a free.
class ReleaseOp final : public Op {
 public:
  explicit ReleaseOp(std::vector<std::shared_ptr<GraphSlot>> slots)
      : Op(Lane::none), slots_(std::move(slots)) {}
  void take_effect() override {
    for (const auto& slot : slots_) release(slot);
    slots_.clear();
  }
  const char* name() const override { return "the end of a graph's memory"; }

 private:
  std::vector<std::shared_ptr<GraphSlot>> slots_;
};

// Fresh when the graph gets there.
class GraphAllocationOp final : public Op {
 public:
  explicit GraphAllocationOp(const MemAllocWork& work)
      : Op(Lane::none), place_(work.slot->place), bytes_(work.bytes) {}
  void take_effect() override { place_.physical->forget(place_.offset, bytes_); }
  void let_go() override { place_ = {}; }
  const char* name() const override { return "an allocation of a graph"; }

 private:
  PoolPlace place_;
  const std::uint64_t bytes_;
};

// The largest that any node wants of each slot.
std::uint64_t bytes_of(const Graph& graph, const GraphSlot& slot) {
  std::uint64_t bytes = 0;
  for (const auto& node : graph.nodes) {
    const auto* work = std::get_if<MemAllocWork>(&node->work);
    if (work != nullptr && work->slot.get() == &slot) bytes = std::max(bytes, work->bytes);
  }
  return bytes;
}

void map(const std::shared_ptr<GraphSlot>& slot) {
  Mapping mapping;
  mapping.begin = slot->begin;
  mapping.size = slot->bytes;
  mapping.kind = MemoryKind::graph;
  mapping.physical = slot->place.physical;
  mapping.offset = slot->place.offset;
  mapping.access[slot->place.physical->gpu()] = Access::read_write;
  mapping.slot = slot;
  slot->driver.space.map(std::move(mapping));
}

void drop_users(Graph& graph, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) release(graph.slots[i].slot);
}

// One more user of each slot, with memory behind it. What the pool had for others and was too small
// goes back to the GPU.
CUresult take_all(Driver& driver, Stream& stream, Graph& graph) {
  for (std::size_t i = 0; i < graph.slots.size(); ++i) {
    const auto& slot = graph.slots[i].slot;
    if (slot->users++ != 0) continue;
    MemoryPool& pool = graph_pool(driver, graph.slots[i].gpu);
    slot->bytes = bytes_of(graph, *slot);
    auto place = pool.take(driver, slot->bytes, {stream.id, predecessors(stream)});
    if (!place) {
      slot->users = 0;
      drop_users(graph, i);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    slot->place = std::move(*place);
    map(slot);
    if (slot->place.grew) pool.trim_to(0);
  }
  return CUDA_SUCCESS;
}

}  // namespace

bool has_memory_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return std::holds_alternative<MemAllocWork>(node->work) ||
           std::holds_alternative<MemFreeWork>(node->work);
  });
}

CUresult allocation_work(Driver& driver, Graph& graph, const std::vector<GraphNode*>& after,
                         unsigned gpu, std::uint64_t bytes, MemAllocWork& out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > driver.machine->capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  out.gpu = gpu;
  out.bytes = bytes;
  std::set<const GraphNode*> before;
  reach(after, before);
  for (SlotUse& use : graph.slots) {
    if (use.gpu != gpu || use.slot->size < bytes || !before.contains(use.freed_by)) continue;
    use.freed_by = nullptr;
    out.slot = use.slot;
    return CUDA_SUCCESS;
  }
  const std::uint64_t size = (bytes + kSlotUnit - 1) / kSlotUnit * kSlotUnit;
  const std::uint64_t begin = driver.space.reserve(size, driver.granularity(), 0, true);
  if (begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  out.slot = std::make_shared<GraphSlot>(driver, begin, size);
  graph.slots.push_back({out.slot, gpu, nullptr});
  return CUDA_SUCCESS;
}

CUresult free_work(const Graph& graph, std::uint64_t address, MemFreeWork& out) {
  for (const SlotUse& use : graph.slots) {
    if (use.slot->begin != address || use.freed_by != nullptr) continue;
    out.slot = use.slot;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void free_added(const GraphNode& node, const MemFreeWork& work) {
  for (SlotUse& use : node.graph->slots) {
    if (use.slot == work.slot) use.freed_by = &node;
  }
}

bool is_graph_memory(const Driver& driver, std::uint64_t begin, std::uint64_t size) {
  for (const auto& [handle, graph] : driver.graphs.all()) {
    for (const SlotUse& use : graph->slots) {
      const std::uint64_t offset = begin - use.slot->begin;
      if (begin >= use.slot->begin && offset < use.slot->size && size <= use.slot->size - offset) {
        return true;
      }
    }
  }
  return false;
}

// Measured on an H200: what the launch before has left is in the way.
CUresult prepare_launch(Driver& driver, Stream& stream, GraphExec& exec) {
  Graph& graph = *exec.graph;
  const bool frees = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for (const SlotUse& use : graph.slots) {
    if (!use.slot->is_left) continue;
    if (!frees) return CUDA_ERROR_INVALID_VALUE;
    use.slot->is_left = false;
    enqueue(stream, std::make_shared<ReleaseOp>(std::vector{use.slot}));
  }
  return take_all(driver, stream, graph);
}

void launched(Stream& stream, const GraphExec& exec) {
  std::vector<std::shared_ptr<GraphSlot>> freed;
  for (const SlotUse& use : exec.graph->slots) {
    if (use.freed_by != nullptr) {
      freed.push_back(use.slot);
    } else {
      use.slot->is_left = true;
    }
  }
  if (!freed.empty()) enqueue(stream, std::make_shared<ReleaseOp>(std::move(freed)));
}

CUresult upload(Driver& driver, Stream& stream, GraphExec& exec) {
  const CUresult result = take_all(driver, stream, *exec.graph);
  if (result == CUDA_SUCCESS) drop_users(*exec.graph, exec.graph->slots.size());
  return result;
}

CUresult free_left(Mapping& mapping, Stream* stream) {
  const auto slot = mapping.slot;
  if (!slot->is_left) return CUDA_ERROR_INVALID_VALUE;
  slot->is_left = false;
  if (stream != nullptr) {
    enqueue(*stream, std::make_shared<ReleaseOp>(std::vector{slot}));
  } else {
    release(slot);
  }
  return CUDA_SUCCESS;
}

OpPtr make_allocation(const MemAllocWork& work) {
  return std::make_shared<GraphAllocationOp>(work);
}

MemoryPool& graph_pool(Driver& driver, unsigned gpu) {
  auto& pool = driver.graph_pools[gpu];
  if (!pool) pool = std::make_shared<MemoryPool>(gpu, 0);
  return *pool;
}

}  // namespace nvs::sim
