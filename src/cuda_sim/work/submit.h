// SPDX-License-Identifier: Apache-2.0
// How work gets from a call to the GPU: onto a stream, in the order CUDA promises, or into the
// graph that the stream is capturing. Everything here is called with the driver's lock held.
#pragma once

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

/// The op that carries out a piece of work in a context.
OpPtr make_op(Driver& driver, Context& context, const Work& work);

/// Hands an op that may wait for long to a worker of its own.
void submit_to_waiter(Driver& driver, Context& context, const OpPtr& op,
                      std::span<const OpPtr> after);

/// What an op on this stream has to wait for.
std::vector<OpPtr> predecessors(const Stream& stream);

/// Puts an op behind all that the stream's order demands, and makes it the stream's last.
void enqueue(Stream& stream, const OpPtr& op, std::vector<OpPtr> after = {});

/// Submits the work, or appends it to the capture. `op` is set to what was submitted, if anything
/// was.
CUresult submit(Driver& driver, std::unique_lock<std::mutex>& guard, Stream& stream, Work work,
                OpPtr* op = nullptr);

/// Launches a graph on a stream, node by node.
void launch_graph(Driver& driver, Stream& stream, GraphExec& exec);

/// The nodes of a graph, each after those it depends on. Shorter than the graph if that cannot be:
/// it has a circle.
std::vector<const GraphNode*> in_order(const Graph& graph);

/// Adds a node to a graph.
GraphNode& add_node(Driver& driver, Graph& graph, Work work, std::vector<GraphNode*> after);

/// Appends work to what the stream captures.
CUresult capture(Driver& driver, Stream& stream, Work work);

}  // namespace nvs::sim
