// SPDX-License-Identifier: Apache-2.0
// What a workload tells the runner that started it: one JSON object a line, on the descriptor given
// with --status-fd. Both sides use this file, so the text has one definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "workloads/progress.h"

namespace nvs::workloads {

// All memory is allocated and filled; the workload waits for its start.
struct ReadyStatus {
  std::string gpu_name{};
  std::uint64_t bytes = 0;  // nominal: what it would be on a GPU that is not scaled down
  double prepare_seconds = 0;
};

// The iterations are done; the data is being checked.
struct VerifyingStatus {
  Progress progress;
};

// The last line of a workload that came to its end. PASS means that all data was as expected.
struct ResultStatus {
  bool pass = false;
  std::uint64_t iterations = 0;
  double seconds = 0;  // from the start to the last iteration's end, without preparing and checking
  double rate = 0;
  double verify_seconds = 0;
  std::string message{};  // empty for PASS
};

using Status = std::variant<ReadyStatus, Progress, VerifyingStatus, ResultStatus>;

// Ends in a newline.
std::string encode_status(const Status& status);
// Nothing for a line that is not one of ours.
std::optional<Status> decode_status(std::string_view line);

}  // namespace nvs::workloads
