// SPDX-License-Identifier: Apache-2.0
// What the node may promise while its daemon does or does not answer: without one programs run
// unshared, and nobody holds them to their limits.
#pragma once

#include <optional>
#include <string>

#include "base/instant.h"

namespace nvs::plugin {

class DaemonPresence {
 public:
  // A daemon is away for some seconds when it is upgraded or has crashed.
  static constexpr Duration kReadyFor = Duration::from_s(10);
  static constexpr Duration kGivesFor = Duration::from_s(60);

  void answered();
  void was_silent(Instant now, std::string why);

  // Why the node is not ready. Empty: the daemon answers, or did so moments ago.
  std::string unready(Instant now) const;
  // Why no device may be given away where a daemon is required. Empty: some may.
  std::string withheld(Instant now) const;
  // When devices are withheld if nothing is heard by then.
  std::optional<Instant> next_deadline() const;

 private:
  bool has_answered_ = false;
  std::optional<Instant> silent_since_;  // it answered, and does not any more
  std::string why_;
};

}  // namespace nvs::plugin
