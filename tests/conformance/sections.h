// SPDX-License-Identifier: Apache-2.0
// Lists the sections of the transcript; each is a file of its own and knows none of the others.
#pragma once

#include "tests/conformance/run.h"

namespace nvs::conformance {

Section init_section();          // calls before and around cuInit
Section device_section();        // device queries and bad ordinals
Section error_section();         // names and texts of result codes
Section proc_address_section();  // cuGetProcAddress by version, flags and name
Section context_section();       // contexts, their stack and flags
Section primary_section();       // retain, release and reset of the primary context
Section no_context_section();    // calls without a current context
Section limit_section();         // limits, cache configuration, peer access to itself
Section memory_section();        // cuMemAlloc and its kin
Section host_section();          // pinned and registered host memory
Section pointer_section();       // pointer attributes of every kind of memory
Section copy_section();          // one-dimensional copies
Section copy_shapes_section();   // copies of two and three dimensions
Section memset_section();        // sets
Section vmm_section();           // granularity, ranges and handles
Section vmm_map_section();       // mappings and access
Section vmm_use_section();       // use and sharing of mapped memory
Section stream_section();        // streams, host functions, memory operations
Section event_section();         // events
Section thread_section();        // contexts and default streams per thread
Section graph_section();         // graphs as such
Section graph_nodes_section();   // each type of node
Section capture_section();       // stream capture
Section capture_more_section();  // captures, threads and the legacy stream
Section module_section();        // modules, libraries, functions
Section launch_section();        // launches and occupancy
Section ipc_section();           // memory and events between processes
Section sticky_section();        // contexts after an illegal access, and the end of a process
Section later_section();         // managed memory and pools, which the simulator may not have yet

}  // namespace nvs::conformance
