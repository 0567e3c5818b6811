// SPDX-License-Identifier: Apache-2.0
// What the parts of the case `latency` share.
#pragma once

#include <array>

#include "bench/cases/sharing_part.h"

namespace nvs::bench::latency_case {

inline constexpr double kRequestsPerSecond = 100;
// What is left to the saturating tenant, in percent of alone.
inline const Target kSaturating = {97, std::nullopt};

struct Limits {
  double p50_ms;
  double p99_ms;
};
// Who asks, and who has the GPU meanwhile: both are tenants of one group.
struct Setting {
  const char* title;
  bool under_daemon;
  std::size_t requester;
  std::optional<Limits> limits;
};
inline const std::array<Setting, 3> kSettings = {{
    {"nvshare, requests of normal priority", true, 1, Limits{2.5, 5}},
    {"nvshare, requests of high priority", true, 2, Limits{1.5, 3}},
    {"driver", false, 1, std::nullopt},
}};

void add_latency(Sharing& sharing, const std::vector<double>& samples_ms,
                 const std::optional<Limits>& limits);

// PyTorch's matmul as the saturating tenant; nothing if no folder of programs was given.
void measure_beside_python(Sharing& sharing, Tenants& bare, Tenants& shared);
int python_steps(const Bench& bench);

}  // namespace nvs::bench::latency_case
