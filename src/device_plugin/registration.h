// SPDX-License-Identifier: Apache-2.0
// Keeps one resource registered with the kubelet, whoever of the two restarts. A pure state
// machine: time is an argument, and what is to be done comes out as effects. Each attempt has a
// socket of its own, because kubelets up to 1.36 and from 1.37 on treat a second registration on
// one path in opposite ways, both bad (ADR-0023).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"

namespace nvs::plugin {

// Serve the plugin at this socket; answer with served().
struct Serve {
  std::string socket;
  bool operator==(const Serve&) const = default;
};
// Tell the kubelet of the socket; answer with registered().
struct Announce {
  std::string socket;
  bool operator==(const Announce&) const = default;
};
// Serve it no longer, and remove it.
struct Drop {
  std::string socket;
  bool operator==(const Drop&) const = default;
};
using RegistrationEffect = std::variant<Serve, Announce, Drop>;

enum class Outcome : std::uint8_t { good, failed };

class Registration {
 public:
  static constexpr Duration kBackOffFirst = Duration::from_ms(250);
  static constexpr Duration kBackOffMost = Duration::from_s(30);
  // The kubelet asks for devices as soon as it has registered us.
  static constexpr Duration kStreamPatience = Duration::from_s(10);
  // A stream that lasted so long ended for a new reason.
  static constexpr Duration kSteady = Duration::from_s(30);

  // `next_socket` gives a name that was never used before.
  explicit Registration(std::function<std::string()> next_socket);

  using Effects = std::vector<RegistrationEffect>;
  void start(Instant now, Effects& out);
  void served(Instant now, const std::string& socket, Outcome outcome, Effects& out);
  void registered(Instant now, const std::string& socket, Outcome outcome, Effects& out);
  void stream_began(Instant now, const std::string& socket);
  void stream_ended(Instant now, const std::string& socket, Effects& out);
  // A file that is ours is gone, and we did not remove it.
  void socket_removed(Instant now, const std::string& socket, Effects& out);
  // The kubelet's own socket was made anew.
  void kubelet_came(Instant now, Effects& out);
  // The settings changed.
  void reload(Instant now, Effects& out);
  void tick(Instant now, Effects& out);
  void stop(Effects& out);

  std::optional<Instant> next_deadline() const;
  // Registered, and the kubelet listens.
  bool is_ready() const { return current_ && current_->streams > 0; }
  // The socket that counts; empty if there is none.
  std::string socket() const { return current_ ? current_->socket : ""; }

 private:
  struct Seat {
    std::string socket;
    int streams = 0;  // open now
    bool had_stream = false;
    Instant since = {};  // registered, or the stream began
  };
  struct Attempt {
    Seat seat;
    bool again = false;    // something happened that makes it useless even if it succeeds
    bool at_once = false;  // something happened that makes the next one likely to succeed
  };

  Seat* find(const std::string& socket);
  void want(Instant not_before);
  void back_off(Instant now);
  void begin(Instant now, Effects& out);

  std::function<std::string()> next_socket_;
  std::optional<Seat> current_;
  std::optional<Attempt> attempt_;
  std::optional<Instant> wanted_from_;  // a new attempt, not before then
  Duration back_off_ = kBackOffFirst;
  bool is_stopped_ = false;
};

}  // namespace nvs::plugin
