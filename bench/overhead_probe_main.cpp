// SPDX-License-Identifier: Apache-2.0
// nvshare-overhead-probe: started by `nvshare-bench overhead` only.
#include <cstring>

#include "bench/child.h"
#include "bench/overhead_probe.h"

int main(int argc, char** argv) {
  using namespace nvs::bench;
  const bool asked = argc == 3 && std::strcmp(argv[1], "--child") == 0;
  return child_main({{kCountRole, run_count}, {kRateRole, run_rates}}, asked ? argv[2] : "");
}
