// SPDX-License-Identifier: Apache-2.0
// A process on a simulated GPU that tests start, look at through NVML, and end or kill.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "base/unique_fd.h"

namespace nvs::nvml {

inline constexpr unsigned long long kMiB = 1 << 20;

struct TenantOptions {
  unsigned gpu = 0;
  std::uint64_t bytes = 1 << 20;
  unsigned busy_percent = 0;
};

class TestProcess {
 public:
  /// Starts test_tenant in the machine that the environment names and waits until it holds its
  /// memory.
  explicit TestProcess(const TenantOptions& options);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  unsigned pid() const { return static_cast<unsigned>(pid_); }
  bool started() const { return started_; }
  /// Lets it end, and expects that it ends well unless it was killed.
  void end();
  /// SIGKILL. The process stays a zombie until this object goes.
  void kill();

 private:
  pid_t pid_ = 0;
  UniqueFd input_;
  bool started_ = false;
};

}  // namespace nvs::nvml
