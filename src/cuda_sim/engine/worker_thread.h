// SPDX-License-Identifier: Apache-2.0
// A thread of the driver's own inside the program's process: it takes no signals and sleeps
// precisely.
#pragma once

#include <functional>

namespace nvs::sim {

/// Starts a detached thread. It must keep what it uses alive itself.
void start_worker(std::function<void()> body);

}  // namespace nvs::sim
