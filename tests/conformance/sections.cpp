// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/sections.h"

namespace nvs::conformance {

std::vector<Section> all_sections() {
  return {
      init_section(),        device_section(),      error_section(),      proc_address_section(),
      context_section(),     primary_section(),     no_context_section(), limit_section(),
      memory_section(),      host_section(),        pointer_section(),    copy_section(),
      copy_shapes_section(), memset_section(),      vmm_section(),        vmm_map_section(),
      vmm_use_section(),     stream_section(),      event_section(),      thread_section(),
      graph_section(),       graph_nodes_section(), capture_section(),    capture_more_section(),
      module_section(),      launch_section(),      ipc_section(),        sticky_section(),
      later_section(),
  };
}

}  // namespace nvs::conformance
