// SPDX-License-Identifier: Apache-2.0
// Who owns an entry of the shared segment, in a form that outlives the owner: a pid alone may be
// reused, so the start time goes with it.
#pragma once

#include <cstdint>

namespace nvs::sim {

struct ProcessIdentity {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
};

enum class Liveness { alive, stopped, dead };

ProcessIdentity own_identity();

/// Dead includes a zombie: its memory and its threads are gone.
Liveness liveness(const ProcessIdentity& identity);

}  // namespace nvs::sim
