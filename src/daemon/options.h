// SPDX-License-Identifier: Apache-2.0
// The command line of nvshare-scheduler, and the messages for those who get it wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/early_exit.h"
#include "base/log.h"
#include "core/policy.h"
#include "daemon/tenant_limits.h"
#include "kube/in_cluster.h"
#include "nvml/gpus.h"
#include "os/tcp_socket.h"

namespace nvs::daemon {

// What GPUs are treated as having, at most.
struct GpuMemory {
  std::optional<std::uint64_t> each;
  std::map<UuidBytes, std::uint64_t> by_uuid;  // counts more
  std::optional<std::uint64_t> of(const UuidBytes& uuid) const;
};

// Where one tenant hands an H200 over to another, 210 to 280 us are lost, of which the GPU itself
// takes 170, and 430 where the host wakes threads late: with windows of 40 ms over 1 %
// (docs/measurements/sharing_h200.md). Who sleeps much does not wait for the end of a window.
inline constexpr Duration kWindow = Duration::from_ms(80);

struct Options {
  std::string folder;
  // Of GPUs for which an administrator set none.
  core::GpuPolicy policy = {.mode = core::Mode::automatic, .window = kWindow, .turn = std::nullopt};
  TenantLimits limits;  // of tenants for which nobody says anything else
  // No tenant in a pod has a higher one unless an administrator gave it: who may create a pod says
  // what is in its environment, and `high` is at the cost of all others.
  core::Priority pod_priority = core::Priority::normal;
  GpuMemory gpu_memory;
  std::optional<std::uint64_t> host_memory_bytes;  // lent at most; nothing: half of what there is
  bool exit_when_unused = false;
  std::optional<kube::Settings> kube;     // whose annotations are watched; nothing: nobody's
  std::string kube_remark;                // why not, where one might expect it
  std::optional<os::TcpAddress> metrics;  // where they are served; nothing: nowhere
  LogLevels log_levels;
};

// What the environment says where no flag does; null where it is not set.
struct Environment {
#define NVS_DAEMON_SETTING(variable, field, flag, help) const char* field = nullptr;
#include "spec/daemon_settings.def"
#undef NVS_DAEMON_SETTING
  kube::Environment kube = {};
};

tl::expected<Options, EarlyExit> parse_options(std::vector<std::string> arguments,
                                               const Environment& environment);

// "20ms", "1.5s", "2m", "1h"; nothing if it is not of that form. In seconds.
std::optional<double> parse_seconds(const std::string& text);

}  // namespace nvs::daemon
