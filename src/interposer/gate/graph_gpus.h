// SPDX-License-Identifier: Apache-2.0
// Where an executable graph works: its kernels run on the GPUs where they were captured or added,
// and its copies use memory of others, whatever stream it is launched in (ADR 29). That does not
// change in an executable graph, so it is looked up once, when that is made.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::gate {

// It was made from that graph.
void graph_instantiated(CUgraph graph, CUgraphExec exec);
// Before the driver hears of it: another thread may get the same handle at once.
void graph_ends(CUgraphExec exec);

// One bit each. All of them, if it is not known.
std::uint32_t gpus_of_graph(CUgraphExec exec);

void forget_graphs_in_child();

}  // namespace nvs::interposer::gate
