// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/registration.h"

#include <algorithm>
#include <utility>

namespace nvs::plugin {

Registration::Registration(std::function<std::string()> next_socket)
    : next_socket_(std::move(next_socket)) {}

Registration::Seat* Registration::find(const std::string& socket) {
  if (current_ && current_->socket == socket) return &*current_;
  if (attempt_ && attempt_->seat.socket == socket) return &attempt_->seat;
  return nullptr;
}

void Registration::want(Instant not_before) {
  wanted_from_ = std::min(wanted_from_.value_or(not_before), not_before);
}

void Registration::back_off(Instant now) {
  wanted_from_ = now + back_off_;
  back_off_ = std::min(back_off_ * 2, kBackOffMost);
}

void Registration::begin(Instant now, Effects& out) {
  if (is_stopped_ || attempt_ || !wanted_from_ || now < *wanted_from_) return;
  wanted_from_.reset();
  attempt_.emplace();
  attempt_->seat.socket = next_socket_();
  out.emplace_back(Serve{attempt_->seat.socket});
}

void Registration::start(Instant now, Effects& out) {
  want(now);
  begin(now, out);
}

void Registration::served(Instant now, const std::string& socket, Outcome outcome, Effects& out) {
  if (!attempt_ || attempt_->seat.socket != socket) return;
  if (outcome == Outcome::good) {
    out.emplace_back(Announce{socket});
    return;
  }
  out.emplace_back(Drop{socket});
  attempt_.reset();
  back_off(now);
}

void Registration::registered(Instant now, const std::string& socket, Outcome outcome,
                              Effects& out) {
  if (!attempt_ || attempt_->seat.socket != socket) return;
  const Attempt attempt = *std::exchange(attempt_, std::nullopt);
  if (outcome == Outcome::failed) {
    // The name is spent: what the kubelet remembers of it is not to be relied on.
    out.emplace_back(Drop{socket});
    if (attempt.at_once || attempt.again) {
      want(now);
    } else {
      back_off(now);
    }
    begin(now, out);
    return;
  }
  if (current_) out.emplace_back(Drop{current_->socket});
  current_ = attempt.seat;
  if (!current_->had_stream) current_->since = now;
  wanted_from_.reset();
  if (attempt.again) {
    want(now);
  } else if (current_->had_stream && current_->streams == 0) {
    back_off(now);
  }
  begin(now, out);
}

void Registration::stream_began(Instant now, const std::string& socket) {
  Seat* seat = find(socket);
  if (seat == nullptr) return;
  ++seat->streams;
  seat->had_stream = true;
  seat->since = now;
}

void Registration::stream_ended(Instant now, const std::string& socket, Effects& out) {
  Seat* seat = find(socket);
  if (seat == nullptr || seat->streams == 0) return;
  --seat->streams;
  if (seat->streams > 0 || !current_ || seat != &*current_) return;
  if (now - seat->since >= kSteady) {
    back_off_ = kBackOffFirst;
    want(now);
  } else if (!wanted_from_) {
    back_off(now);
  }
  begin(now, out);
}

void Registration::socket_removed(Instant now, const std::string& socket, Effects& out) {
  if (attempt_ && attempt_->seat.socket == socket) {
    attempt_->again = true;
    return;
  }
  if (!current_ || current_->socket != socket) return;
  want(now);
  begin(now, out);
}

void Registration::kubelet_came(Instant now, Effects& out) {
  back_off_ = kBackOffFirst;
  if (attempt_) {
    // It may have reached the new kubelet already. If it succeeds, the stream will tell.
    attempt_->at_once = true;
    return;
  }
  want(now);
  begin(now, out);
}

void Registration::reload(Instant now, Effects& out) {
  if (attempt_) {
    attempt_->again = true;
    return;
  }
  want(now);
  begin(now, out);
}

void Registration::tick(Instant now, Effects& out) {
  const bool waits = current_ && !attempt_ && !wanted_from_ && current_->streams == 0;
  if (waits && now >= current_->since + kStreamPatience) back_off(now);
  begin(now, out);
}

void Registration::stop(Effects& out) {
  is_stopped_ = true;
  if (attempt_) out.emplace_back(Drop{attempt_->seat.socket});
  if (current_) out.emplace_back(Drop{current_->socket});
  attempt_.reset();
  current_.reset();
  wanted_from_.reset();
}

std::optional<Instant> Registration::next_deadline() const {
  if (is_stopped_ || attempt_) return std::nullopt;
  if (wanted_from_) return wanted_from_;
  if (current_ && current_->streams == 0) return current_->since + kStreamPatience;
  return std::nullopt;
}

}  // namespace nvs::plugin
