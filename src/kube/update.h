// SPDX-License-Identifier: Apache-2.0
// What the watch has to say to its owner: changes of pods, how it is itself, and lines for the log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "kube/pod_store.h"

namespace nvs::kube {

// Why a list or a watch was begun anew.
enum class Reason : std::uint8_t {
  closed,        // the server ended the watch in good order
  expired,       // 410: our place in its history is forgotten
  unauthorized,  // 401
  forbidden,     // 403
  throttled,     // 429, 503
  refused,       // another status, or an ERROR line
  garbage,       // an answer that is none
  connect,       // not to be reached
  tls,           // its certificate, most likely
  timeout,       // silent for too long
  cut,           // the connection broke in the middle of an answer
  credentials,   // no token to be read here
  last = credentials,
};
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::last) + 1;
// "closed": the label of a metric.
std::string_view reason_word(Reason reason);

struct Health {
  // The last request was answered as it should be.
  bool is_reachable = false;
  Instant since = {};           // it is so, or is not
  bool has_listed = false;      // pods are known: as they were when it was last reachable
  std::string last_error = {};  // why it is not reachable, or was not before
  std::array<std::uint64_t, kReasons> reconnects = {};

  std::uint64_t count(Reason reason) const { return reconnects[static_cast<std::size_t>(reason)]; }
  bool operator==(const Health&) const = default;
};

struct Message {
  enum class Level : std::uint8_t { info, warning };
  Level level = Level::info;
  std::string text;
  bool operator==(const Message&) const = default;
};

struct Update {
  std::vector<PodChange> changes;
  std::optional<Health> health;  // if something of it changed
  std::vector<Message> messages;

  bool is_empty() const { return changes.empty() && !health && messages.empty(); }
};

}  // namespace nvs::kube
