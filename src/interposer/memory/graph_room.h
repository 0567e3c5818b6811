// SPDX-License-Identifier: Apache-2.0
// Room for the memory of graphs. The driver takes it at a launch, where nobody can wait, and one
// that it has too little for costs the process the whole card: so others make room before a graph
// is instantiated, and it is told as fixed from then on, there or not (ADR-0032).
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/gate/gate.h"

namespace nvs::interposer::memory::graphs {

// What an executable graph takes of a GPU: what it leaves when it has run, and what other graphs
// may have then.
struct Need {
  std::uint64_t left = 0;
  std::uint64_t passing = 0;
};
using Needs = Need[gate::kGpusMax];

// Of a graph that can be instantiated; all 0 if it has an executable one.
void find_needs(CUgraph graph, Needs& needs);

// Room that is kept for one executable graph. 0: none.
using Promise = std::uint64_t;

// Before the graph is instantiated; waits for others to make room as an allocation does, with no
// lock held and no gate entered. Where there can be none, none is promised, and the driver alone
// judges.
Promise take_room_for(CUgraph graph);
void end_promise(Promise promise);

// Whether graphs may have memory of the GPU. If not, nothing is kept there, and there is nothing to
// ask the driver.
bool may_have_any(int gpu);

// Bytes of a GPU that graphs have or were promised, and those of them that the driver did not have
// yet when it was asked last.
std::uint64_t kept_bytes(int gpu);
std::uint64_t early_bytes(int gpu);

// Asks the driver what it has for graphs; of all GPUs where it may have any.
void look_at_driver(int gpu);
void look_at_all();

// All work of the GPU has ended: launches may have taken what was kept for them, and others may
// have what the driver keeps when the last graph is gone. To give that back may take long.
void drained(int gpu);
// The same for whoever has no time for that: whether it is to be done.
bool needs_trim(int gpu);

// Graphs and their memory are of no context. But without one nothing is launched and nothing is
// drained any more: nobody else would give back what none of them needs.
void context_ended();

// What there is comes before what may come: if so much is lacking, promises end. False: that does
// not help.
bool give_up_promises(int gpu, std::uint64_t lacking);
// The same for an allocation. Before, what others have freed is forgotten, and the driver gives
// back what it keeps for no graph.
bool make_way(int gpu, std::uint64_t lacking);

void forget_promises_in_child();

}  // namespace nvs::interposer::memory::graphs
