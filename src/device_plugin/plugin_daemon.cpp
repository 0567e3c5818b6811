// SPDX-License-Identifier: Apache-2.0
// What the plugin makes of the daemon: a node with one is ready, and gives devices away.
#include <utility>

#include "base/log.h"
#include "device_plugin/plugin.h"
#include "os/clock.h"

namespace nvs::plugin {

std::string Plugin::unready() const {
  const std::string kubelet = registrar_.unready();
  const std::string daemon = presence_.unready(os::monotonic_now());
  return kubelet + (kubelet.empty() || daemon.empty() ? "" : "\n") + daemon;
}

void Plugin::take_talk(const DaemonTalked& talked) {
  const Instant now = os::monotonic_now();
  if (talked.error.empty()) {
    daemon_watch_.talked(talked.began_at);
    presence_.answered();
  } else {
    presence_.was_silent(now, talked.error);
  }
  withhold_or_give(now);
}

void Plugin::withhold_or_give(Instant now) {
  const std::string reason = options_.requires_scheduler ? presence_.withheld(now) : "";
  if (reason.empty() != std::exchange(is_withheld_, !reason.empty())) return;
  log(is_withheld_ ? Level::warning : Level::info,
      is_withheld_ ? "all devices are unhealthy" : "devices are given away", {{"reason", reason}});
  answers_.set_withheld(is_withheld_);
  registrar_.send_devices();
}

std::optional<Instant> Plugin::daemon_deadline() const {
  if (!options_.requires_scheduler || is_withheld_) return std::nullopt;
  return presence_.next_deadline();
}

// In the thread that talks to the daemon.
void Plugin::talk_to_daemon() {
  const Instant began_at = os::monotonic_now();
  auto loads = daemon_.talk(answers_.slots(), answers_.offer()->config.memory.unit_bytes);
  const std::string error = loads ? "" : loads.error();
  if (error != std::exchange(load_error_, error) && !error.empty()) {
    log(Level::warning, "the daemon is not told who has what, and pods are spread without its word",
        {{"error", error}});
  }
  mailbox_.post(DaemonTalked{.began_at = began_at, .error = error});
  answers_.set_loads(loads ? *std::move(loads) : std::map<std::string, double>{});
}

}  // namespace nvs::plugin
