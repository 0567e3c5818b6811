// SPDX-License-Identifier: Apache-2.0
// Failures that a test or the environment asks for: calls that fail or end the process, a kernel
// that hangs, a kernel that faults.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nvs::sim {

/// Whether it is FUNCTION or FUNCTION@THREAD, of a function of the driver.
bool is_caller(std::string_view text);

/// What the calling thread is named for the system.
std::string thread_name();

class FaultInjection {
 public:
  /// "*" means the next kernel, whatever its name; empty means none.
  std::string hang_kernel;
  std::string fault_kernel;

  /// NVSHARE_SIM_WITHOUT: the driver has no virtual memory management.
  bool without_vmm = false;

  void fail_call(const std::string& function, unsigned after, unsigned times, int result);

  /// Reads NVSHARE_SIM_FAIL. False if it cannot be understood.
  bool parse(std::string_view text);

  /// The result that a call of `function` by a thread of that name must return now, if it is to
  /// fail; below 0: minus the signal that the process must get instead.
  std::optional<int> next_result(std::string_view function, std::string_view thread = {});
  bool any_calls() const { return !calls_.empty(); }

  /// Whether the armed name means this kernel; it is armed once.
  bool take(std::string& armed, std::string_view kernel);

 private:
  struct Plan {
    unsigned after = 0;
    unsigned times = 0;
    int result = 0;
  };
  std::map<std::string, Plan, std::less<>> calls_;  // by FUNCTION or FUNCTION@THREAD
};

}  // namespace nvs::sim
