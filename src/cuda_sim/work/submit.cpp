// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/submit.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "cuda_sim/work/copy_op.h"
#include "cuda_sim/work/event_record.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/host_op.h"
#include "cuda_sim/work/kernel_op.h"
#include "cuda_sim/work/memset_op.h"
#include "cuda_sim/work/value_op.h"

namespace nvs::sim {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

OpPtr make_copy(Driver& driver, const Context& context, const CopyWork& work) {
  CopyPlan plan;
  if (plan_copy(driver, context.gpu, work.geometry, plan) != CUDA_SUCCESS) {
    return std::make_shared<IllegalOp>();
  }
  if (plan.bytes() == 0) return std::make_shared<Marker>("an empty copy");
  return std::make_shared<CopyOp>(driver, plan, work.staged);
}

// Copies and memsets of no bytes leave no trace in a capture.
bool is_empty(const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    const CUDA_MEMCPY3D& g = copy->geometry;
    return g.WidthInBytes == 0 || g.Height == 0 || g.Depth == 0;
  }
  const auto* memset = std::get_if<MemsetWork>(&work);
  return memset != nullptr && memset_extent(*memset) == 0;
}

// Hands an op to the workers that may carry it out.
void start(Driver& driver, Context& context, const Work& work, const OpPtr& op,
           std::span<const OpPtr> after) {
  if (std::holds_alternative<ValueWork>(work)) {
    submit_to_waiter(driver, context, op, after);
  } else {
    context.engine->submit(op, after);
  }
}

// The ops of one launch of a graph: by node, so that edges become "after".
class GraphLaunch {
 public:
  GraphLaunch(Driver& driver, Context& context) : driver_(driver), context_(context) {}

  OpPtr run(const Graph& graph, const OpPtr& start) {
    std::vector<OpPtr> all{start};
    std::map<const GraphNode*, OpPtr> ends;
    for (const GraphNode* node : in_order(graph)) {
      std::vector<OpPtr> after;
      for (const GraphNode* before : node->after) after.push_back(ends.at(before));
      if (after.empty()) after.push_back(start);
      ends[node] = run(*node, after);
      all.push_back(ends[node]);
    }
    const auto end = std::make_shared<Marker>("the end of a graph");
    context_.engine->submit(end, all);
    return end;
  }

 private:
  OpPtr run(const GraphNode& node, const std::vector<OpPtr>& after) {
    const auto* child = std::get_if<ChildWork>(&node.work);
    if (child != nullptr && node.enabled) {
      const auto start = std::make_shared<Marker>("the begin of a child graph");
      context_.engine->submit(start, after);
      return run(*child->graph, start);
    }
    std::vector<OpPtr> waits = after;
    if (const auto* wait = std::get_if<EventWaitWork>(&node.work)) {
      waits.push_back(record_of(driver_, *wait->event));
    }
    if (!node.enabled) {
      const auto skipped = std::make_shared<Marker>("a disabled node");
      context_.engine->submit(skipped, waits);
      return skipped;
    }
    Context& context = place_of(node.work);
    const OpPtr op = make_op(driver_, context, node.work);
    start(driver_, context, node.work, op, waits);
    if (const auto* record = std::get_if<EventRecordWork>(&node.work)) {
      record->event->record = op;
      announce_record(*record->event);
      record->event->capture = nullptr;
      record->event->capture_over = false;
    }
    return op;
  }

  // Kernels run where they were captured or added, and all else where the graph is launched.
  Context& place_of(const Work& work) const {
    const auto* kernel = std::get_if<KernelWork>(&work);
    const bool has_own = kernel != nullptr && kernel->context != nullptr;
    return has_own && !kernel->context->destroyed ? *kernel->context : context_;
  }

  Driver& driver_;
  Context& context_;
};

}  // namespace

// Nodes may depend on ones created after them.
std::vector<const GraphNode*> in_order(const Graph& graph) {
  std::vector<const GraphNode*> order;
  std::set<const GraphNode*> placed;
  std::size_t before = 0;
  do {
    before = order.size();
    for (const auto& node : graph.nodes) {
      if (placed.contains(node.get())) continue;
      const bool ready = std::all_of(node->after.begin(), node->after.end(),
                                     [&](const GraphNode* n) { return placed.contains(n); });
      if (!ready) continue;
      placed.insert(node.get());
      order.push_back(node.get());
    }
  } while (order.size() > before && order.size() < graph.nodes.size());
  return order;
}

void submit_to_waiter(Driver& driver, Context& context, const OpPtr& op,
                      std::span<const OpPtr> after) {
  auto& waiters = context.value_waiters;
  auto free = std::find_if(waiters.begin(), waiters.end(),
                           [](const ValueWaiter& waiter) { return waiter.last->done(); });
  if (free == waiters.end()) free = waiters.insert(free, {driver.make_engine(context), nullptr});
  free->last = op;
  free->engine->submit(op, after);
}

OpPtr make_op(Driver& driver, Context& context, const Work& work) {
  return std::visit(Overloaded{
                        [&](const KernelWork& w) -> OpPtr {
                          return std::make_shared<KernelOp>(driver, context, w);
                        },
                        [&](const CopyWork& w) -> OpPtr { return make_copy(driver, context, w); },
                        [&](const MemsetWork& w) -> OpPtr {
                          if (memset_extent(w) == 0)
                            return std::make_shared<Marker>("an empty memset");
                          return std::make_shared<MemsetOp>(driver, context.gpu, w);
                        },
                        [&](const ValueWork& w) -> OpPtr {
                          return std::make_shared<ValueOp>(driver, context, w);
                        },
                        [&](const MemAllocWork& w) -> OpPtr { return make_allocation(w); },
                        [&](const HostWork& w) -> OpPtr { return std::make_shared<HostOp>(w); },
                        [&](const auto&) -> OpPtr { return std::make_shared<Marker>("a marker"); },
                    },
                    work);
}

std::vector<OpPtr> predecessors(const Stream& stream) {
  const Context& context = *stream.context;
  std::vector<OpPtr> after{stream.tail, context.barrier};
  if (stream.kind == StreamKind::legacy) {
    for (const auto& other : context.streams) {
      if (other->blocking()) after.push_back(other->tail);
    }
    for (const auto& [thread, other] : context.per_thread) after.push_back(other->tail);
  } else if (stream.blocking()) {
    after.push_back(context.legacy->tail);
  }
  return after;
}

void enqueue(Stream& stream, const OpPtr& op, std::vector<OpPtr> after) {
  const std::vector<OpPtr> order = predecessors(stream);
  after.insert(after.end(), order.begin(), order.end());
  stream.context->engine->submit(op, after);
  stream.tail = op;
}

CUresult submit(Driver& driver, std::unique_lock<std::mutex>& guard, Stream& stream, Work work,
                OpPtr* submitted) {
  if (stream.capture) return capture(driver, stream, std::move(work));
  stream.context->engine->wait_for_room(guard);
  if (stream.context->sticky != CUDA_SUCCESS) return stream.context->sticky;
  const OpPtr op = make_op(driver, *stream.context, work);
  start(driver, *stream.context, work, op, predecessors(stream));
  stream.tail = op;
  if (submitted != nullptr) *submitted = op;
  return CUDA_SUCCESS;
}

void launch_graph(Driver& driver, Stream& stream, GraphExec& exec) {
  const auto start = std::make_shared<Marker>("the begin of a graph");
  enqueue(stream, start, {exec.last});
  GraphLaunch launch{driver, *stream.context};
  exec.last = launch.run(*exec.graph, start);
  stream.tail = exec.last;
}

GraphNode& add_node(Driver& driver, Graph& graph, Work work, std::vector<GraphNode*> after) {
  auto node = std::make_shared<GraphNode>();
  node->graph = &graph;
  node->work = std::move(work);
  node->after = std::move(after);
  node->handle = driver.nodes.add(node);
  graph.nodes.push_back(node);
  if (const auto* freed = std::get_if<MemFreeWork>(&node->work)) free_added(*node, *freed);
  return *node;
}

CUresult capture(Driver& driver, Stream& stream, Work work) {
  Capture& target = *stream.capture;
  if (target.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (is_empty(work)) return CUDA_SUCCESS;
  GraphNode& node = add_node(driver, *target.graph, std::move(work), stream.capture_tail);
  stream.capture_tail = {&node};
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim
