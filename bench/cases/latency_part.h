// SPDX-License-Identifier: Apache-2.0
// What the parts of the case `latency` share.
#pragma once

#include "bench/cases/sharing_part.h"

namespace nvs::bench::latency_case {

inline constexpr double kRequestsPerSecond = 100;
// What is left to the saturating tenant, in percent of alone.
inline const Target kSaturating = {97, std::nullopt};

void append_ms(std::vector<double>& all, const nlohmann::json& answer);

// PyTorch's matmul as the saturating tenant; nothing if no folder of programs was given.
void measure_beside_python(Sharing& sharing, Tenants& bare, Tenants& shared);
int python_steps(const Bench& bench);

}  // namespace nvs::bench::latency_case
