// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_machine.h"

#include <algorithm>
#include <utility>

#include "kube/watch_request.h"

namespace nvs::kube {
namespace {

constexpr int kOk = 200;

}  // namespace

WatchMachine::WatchMachine(std::string node, const WatchTiming& timing,
                           std::function<double()> chance)
    : node_(std::move(node)),
      timing_(timing),
      chance_(std::move(chance)),
      backoff_(timing.backoff_first, timing.backoff_most),
      restarts_left_(kRestartsAtOnce) {}

void WatchMachine::step(Instant now, const Input& input, std::vector<Effect>& effects) {
  now_ = now;
  effects_ = &effects;
  std::visit([this](const auto& one) { on(one); }, input);
  if (health_ != posted_) update_.health = posted_ = health_;
  if (!update_.is_empty()) effects.emplace_back(PostUpdate{std::exchange(update_, {})});
  effects_ = nullptr;
}

std::optional<Instant> WatchMachine::next_deadline() const {
  if (phase_ != Phase::watch || !relist_at_) return deadline_;
  return std::min(*relist_at_, deadline_.value_or(*relist_at_));
}

void WatchMachine::on(const Started& /*input*/) {
  health_.since = now_;
  start(Next::list);
}

void WatchMachine::on(const Tick& /*input*/) {
  if (phase_ == Phase::watch && relist_at_ && now_ >= *relist_at_) {
    leave_request();
    return start(Next::list);
  }
  if (!deadline_ || now_ < *deadline_) return;
  if (phase_ == Phase::pause) return start(next_);
  // A watch too is begun with a list: perhaps the server waits for a version that never comes.
  fail(Reason::timeout, "the API server is silent", Next::list);
}

void WatchMachine::on(const ResponseHeaders& input) {
  if (phase_ != Phase::list && phase_ != Phase::watch) return;
  status_ = input.status;
  retry_after_ = input.retry_after;
  if (status_ != kOk) return;
  has_second_chance_ = true;
  set_reachable(true);
  if (phase_ == Phase::list) return;
  watching_since_ = now_;
  deadline_ = started_ + watch_timeout_ + timing_.watch_margin;
}

void WatchMachine::on(const ResponseBytes& input) {
  if (phase_ != Phase::list && phase_ != Phase::watch) return;
  if (status_ != kOk) {
    body_.append(input.bytes, 0, kRefusalBytesMax - body_.size());
  } else if (phase_ == Phase::list) {
    take_page_bytes(input.bytes);
  } else {
    take_watch_bytes(input.bytes);
  }
}

void WatchMachine::take_page_bytes(const std::string& bytes) {
  if (bytes.size() > kPageBytesMax - body_.size()) {
    page_pods_ = std::max(page_pods_ / 10, kPagePodsLeast);
    return fail(Reason::garbage, "a list of pods is too long", Next::list);
  }
  body_ += bytes;
  deadline_ = std::min(now_ + timing_.silence, started_ + timing_.list_most);
}

void WatchMachine::take_watch_bytes(const std::string& bytes) {
  const Result<void> split =
      splitter_.feed(bytes, [this](std::string_view line) { return take_line(line); });
  // What it was about is not known. A list has it too, but one can be read in smaller pieces.
  if (!split) fail(Reason::garbage, "a watch's line is too long", Next::list);
}

LineSplitter::Next WatchMachine::take_line(std::string_view line) {
  if (line.empty()) return LineSplitter::Next::go_on;
  Result<WatchEvent> event = parse_watch_line(line);
  if (!event) {
    fail(Reason::garbage, std::string("a watch's line is not understood: ") + event.error().what,
         Next::list);
    return LineSplitter::Next::stop;
  }
  if (const auto* refusal = std::get_if<Refusal>(&*event)) {
    refuse(*refusal);
    return LineSplitter::Next::stop;
  }
  has_heard_ = true;
  if (auto* pod = std::get_if<PodEvent>(&*event)) {
    resource_version_ = std::move(pod->resource_version);
    const bool was_full = store_.is_full();
    store_.apply(std::move(*pod), update_.changes);
    if (store_.is_full() && !was_full) say(Message::Level::warning, "too many pods on this node");
  } else if (auto* bookmark = std::get_if<Bookmark>(&*event)) {
    resource_version_ = std::move(bookmark->resource_version);
  }
  return LineSplitter::Next::go_on;
}

void WatchMachine::on(const ResponseEnd& /*input*/) {
  if (phase_ != Phase::list && phase_ != Phase::watch) return;
  if (status_ == 0) return fail(Reason::cut, "an answer ended before it began", where_it_was());
  if (status_ != kOk) {
    Refusal refusal = parse_refusal(body_);
    refusal.code = status_;
    if (retry_after_) refusal.retry_after = retry_after_;
    return refuse(refusal);
  }
  if (phase_ == Phase::list) return take_page();
  end_watch();
}

void WatchMachine::on(const RequestFailed& input) {
  if (phase_ != Phase::list && phase_ != Phase::watch) return;
  const Next next = where_it_was();
  if (input.reason != Reason::tls) return fail(input.reason, input.text, next);
  // A cluster's CA changes with the token, in the same folder.
  effects_->emplace_back(ReloadCa{});
  if (!std::exchange(has_second_chance_, false)) return fail(input.reason, input.text, next);
  count(input.reason);
  start(next);
}

void WatchMachine::take_page() {
  Result<ListPage> page = parse_list_page(body_);
  if (!page) {
    const std::string why = std::string("a list of pods is not understood: ") + page.error().what;
    return fail(Reason::garbage, why, Next::list);
  }
  const std::size_t room = kPodsMax + 1 - std::min(listed_.size(), kPodsMax + 1);
  page->pods.resize(std::min(page->pods.size(), room));
  std::move(page->pods.begin(), page->pods.end(), std::back_inserter(listed_));
  next_page_ = std::move(page->next);
  resource_version_ = std::move(page->resource_version);
  if (next_page_.empty()) return end_list();
  if (++pages_ >= kPagesMax) return fail(Reason::garbage, "a list never ends", Next::list);
  request_page();
}

void WatchMachine::end_list() {
  store_.replace(std::exchange(listed_, {}), update_.changes);
  if (!std::exchange(health_.has_listed, true)) {
    say(Message::Level::info,
        "watching the annotations of " + std::to_string(store_.size()) + " pods of node " + node_);
  }
  if (store_.is_full()) say(Message::Level::warning, "too many pods on this node");
  relist_at_ = now_ + between(timing_.relist_least, timing_.relist_most, chance_());
  request_watch();
}

void WatchMachine::end_watch() {
  if (splitter_.has_rest()) {
    return fail(Reason::cut, "a watch ended in the middle of a line", Next::watch);
  }
  const bool is_deaf = !has_heard_ && now_ - started_ >= timing_.suspicious;
  again(Reason::closed, is_deaf ? Next::list : Next::watch);
}

void WatchMachine::refuse(const Refusal& refusal) {
  const std::string answer = "the API server answers " + std::to_string(refusal.code) +
                             (refusal.message.empty() ? "" : ": " + refusal.message);
  const Next next = where_it_was();
  switch (refusal.code) {
    case 401:
      if (!std::exchange(has_second_chance_, false)) {
        return fail(Reason::unauthorized, answer, next, refusal.retry_after);
      }
      leave_request();
      count(Reason::unauthorized);
      return start(next);
    case 403:
      return fail(Reason::forbidden,
                  "the service account may not list and watch pods; it needs a ClusterRole with "
                  "pods: [list, watch]; " +
                      answer,
                  next, refusal.retry_after);
    case 410:
      return again(Reason::expired, Next::list);
    case 429:
    case 503:
      return fail(Reason::throttled, answer, next, refusal.retry_after);
    default:
      // It may be our place in its history that it does not like (a version that is to come: 504).
      return fail(Reason::refused, answer, Next::list, refusal.retry_after);
  }
}

}  // namespace nvs::kube
