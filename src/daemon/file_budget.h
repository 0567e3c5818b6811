// SPDX-License-Identifier: Apache-2.0
// What the descriptors that the system allows are for: clients, memory that they share, segments of
// host memory. Without clients the rest is of no use, so some of those come first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "daemon/limits.h"

namespace nvs::daemon {

struct FileBudget {
  std::size_t clients = kClientsMax;  // kClientsMax at most
  std::size_t shared_files = kSharedFilesMax;
  std::uint64_t host_segments = 0;  // as many as were wanted, or fewer
};

inline FileBudget divide_files(std::uint64_t files, std::size_t files_per_client,
                               std::uint64_t host_segments) {
  const std::uint64_t shared = std::min<std::uint64_t>(files / kSharedFilesPart, kSharedFilesMax);
  std::uint64_t spare = files - shared - std::min<std::uint64_t>(files - shared, kFdsReserved);
  const std::uint64_t for_first = std::min(spare, kClientsBeforeHost * files_per_client);
  FileBudget budget;
  budget.shared_files = shared;
  budget.host_segments = std::min(host_segments, (spare - for_first) / kFdsPerHostSegment);
  spare -= budget.host_segments * kFdsPerHostSegment;
  budget.clients = std::min<std::uint64_t>(spare / files_per_client, kClientsMax);
  return budget;
}

}  // namespace nvs::daemon
