// SPDX-License-Identifier: Apache-2.0
// What tenants have of a GPU's memory while others have the rest. A thread asks the daemon all the
// time where each tenant's memory is; together with the daemon's trace of windows this says how
// long each exchange took, how much was moved in it, and how much of that had to be copied.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/daemon_process.h"
#include "bench/tenants.h"

namespace nvs::bench {

// One tenant's memory at one moment, in bytes as the driver sees them.
struct Holding {
  std::int64_t at_ns = 0;
  pid_t pid = 0;
  double resident = 0;
  double away = 0;
  double copied = 0;  // out, all in all
};

class MemoryWatch {
 public:
  explicit MemoryWatch(const DaemonProcess& daemon);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Ends the thread. Empty if the daemon does not tell where memory is. Throws Failure where it
  // stopped answering.
  std::vector<Holding> finish();

 private:
  void watch();

  const DaemonProcess& daemon_;
  std::atomic<bool> over_ = false;
  std::vector<Holding> holdings_;
  std::string failure_;
  std::thread thread_;
};

// What one answer of the daemon says about all tenants' memory on its first GPU.
std::vector<Holding> holdings_in(const nlohmann::json& status, std::int64_t at_ns);

// The exchanges between tenants of that name in a trace, each from the end of one's last window to
// the other's first, begun and ended in that time. Windows of other tenants in between change
// nothing.
std::vector<Span> exchanges_in(const nlohmann::json& trace, const std::string& name,
                               std::int64_t from_ns, std::int64_t to_ns);

// Bytes that were moved in an exchange, out and in: what was away before it, and what is after.
double bytes_exchanged(const std::vector<Holding>& holdings, const Span& exchange);

// Bytes that all tenants together moved; nothing if the daemon did not tell where memory was.
struct Moved {
  double out = 0;
  double in = 0;
};
std::optional<Moved> moved_in(const std::vector<Holding>& holdings);

// What left the GPU of one tenant's memory, each time that it left, and what of it was copied.
struct Leave {
  double bytes = 0;
  double copied = 0;
};
std::vector<Leave> leaves_of(const std::vector<Holding>& holdings, pid_t pid);

}  // namespace nvs::bench
