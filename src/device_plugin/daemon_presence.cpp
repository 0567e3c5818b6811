// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/daemon_presence.h"

#include <utility>

namespace nvs::plugin {

void DaemonPresence::answered() {
  has_answered_ = true;
  silent_since_.reset();
  why_.clear();
}

void DaemonPresence::was_silent(Instant now, std::string why) {
  if (has_answered_ && !silent_since_) silent_since_ = now;
  why_ = std::move(why);
}

std::string DaemonPresence::unready(Instant now) const {
  if (!has_answered_) {
    return "nvshare-scheduler has not answered yet" + (why_.empty() ? "" : ": " + why_);
  }
  if (!silent_since_ || now < *silent_since_ + kReadyFor) return "";
  return "nvshare-scheduler does not answer: " + why_;
}

std::string DaemonPresence::withheld(Instant now) const {
  if (has_answered_ && (!silent_since_ || now < *silent_since_ + kGivesFor)) return "";
  return unready(now);
}

std::optional<Instant> DaemonPresence::next_deadline() const {
  if (!silent_since_) return std::nullopt;
  return *silent_since_ + kGivesFor;
}

}  // namespace nvs::plugin
