// SPDX-License-Identifier: Apache-2.0
// How the machine begins and ends requests, and when it does so again.
#include <algorithm>
#include <utility>

#include "kube/watch_machine.h"
#include "kube/watch_request.h"

namespace nvs::kube {
namespace {

// What is said once, until it is over. The network's own texts have times in them, and differ.
std::string topic_of(Reason reason, const std::string& text) {
  const bool is_network =
      reason == Reason::connect || reason == Reason::tls || reason == Reason::cut;
  return is_network ? std::string(reason_word(reason)) : text;
}

}  // namespace

void WatchMachine::start(Next next) {
  if (next == Next::watch) return request_watch();
  pages_ = 0;
  next_page_.clear();
  listed_.clear();
  request_page();
}

void WatchMachine::request_page() {
  begin_request(Phase::list, {list_target(node_, page_pods_, next_page_), kListForm});
}

void WatchMachine::request_watch() {
  watch_timeout_ = between(timing_.watch_least, timing_.watch_most, chance_());
  begin_request(Phase::watch, {watch_target(node_, resource_version_, watch_timeout_), kWatchForm});
}

void WatchMachine::begin_request(Phase phase, StartRequest request) {
  phase_ = phase;
  started_ = now_;
  deadline_ = now_ + timing_.silence;
  status_ = 0;
  retry_after_.reset();
  watching_since_.reset();
  has_heard_ = false;
  body_ = {};
  splitter_.clear();
  effects_->emplace_back(std::move(request));
}

// Whether it has ended by itself or not: to cancel what is over does nothing.
void WatchMachine::leave_request() {
  if (watching_since_ && now_ - *watching_since_ >= timing_.healthy) {
    backoff_.reset();
    restarts_left_ = kRestartsAtOnce;
  }
  phase_ = Phase::idle;
  deadline_.reset();
  effects_->emplace_back(CancelRequest{});
}

void WatchMachine::again(Reason reason, Next next) {
  leave_request();
  count(reason);
  if (restarts_left_ == 0) return pause(next, backoff_.next(chance_()));
  --restarts_left_;
  start(next);
}

void WatchMachine::fail(Reason reason, const std::string& text, Next next,
                        std::optional<Duration> retry_after) {
  leave_request();
  count(reason);
  set_reachable(false);
  health_.last_error = text;
  const std::string topic = topic_of(reason, text);
  if (std::exchange(said_, topic) != topic) say(Message::Level::warning, text);
  // Others were told the same number of seconds: come back after it, and not all at once.
  const Duration wait = backoff_.next(chance_());
  const Duration asked = std::min(retry_after.value_or(Duration{}), timing_.retry_after_most);
  pause(next, asked + wait);
}

void WatchMachine::pause(Next next, Duration wait) {
  phase_ = Phase::pause;
  next_ = next;
  deadline_ = now_ + wait;
}

void WatchMachine::count(Reason reason) { ++health_.reconnects[static_cast<std::size_t>(reason)]; }

void WatchMachine::set_reachable(bool is_reachable) {
  if (health_.is_reachable == is_reachable) return;
  health_.is_reachable = is_reachable;
  health_.since = now_;
  if (is_reachable && !std::exchange(said_, {}).empty()) {
    say(Message::Level::info, "the API server answers again");
  }
}

void WatchMachine::say(Message::Level level, std::string text) {
  update_.messages.push_back({level, std::move(text)});
}

}  // namespace nvs::kube
