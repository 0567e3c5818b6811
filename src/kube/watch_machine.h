// SPDX-License-Identifier: Apache-2.0
// The whole conduct of a list and watch client, without a network, a clock or a thread: what came
// in goes to step(), what is to be done comes out. It knows the pods of one node, keeps to what an
// API server promises, and lives with all that goes wrong between it and us (ADR-0022).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "kube/backoff.h"
#include "kube/limits.h"
#include "kube/line_splitter.h"
#include "kube/pod_store.h"
#include "kube/update.h"
#include "kube/watch_event.h"
#include "kube/watch_timing.h"

namespace nvs::kube {

// What happens. All but the first and the last are about the request that was started last.
struct Started {};
struct ResponseHeaders {
  int status = 0;
  std::optional<Duration> retry_after;
};
struct ResponseBytes {
  std::string bytes;
};
struct ResponseEnd {};
struct RequestFailed {
  Reason reason = Reason::connect;
  std::string text;
};
struct Tick {};  // at next_deadline(), or at any time
using Input =
    std::variant<Started, ResponseHeaders, ResponseBytes, ResponseEnd, RequestFailed, Tick>;

// What is to be done, in this order.
struct StartRequest {
  std::string target;  // path and query
  std::string accept;
  // The token is read anew for each request: the kubelet changes it under us.
};
struct CancelRequest {};
struct ReloadCa {};
struct PostUpdate {
  Update update;
};
using Effect = std::variant<StartRequest, CancelRequest, ReloadCa, PostUpdate>;

class WatchMachine {
 public:
  // `chance` returns numbers from 0 to 1.
  WatchMachine(std::string node, const WatchTiming& timing, std::function<double()> chance);

  void step(Instant now, const Input& input, std::vector<Effect>& effects);
  std::optional<Instant> next_deadline() const;
  const Health& health() const { return health_; }

 private:
  enum class Phase : std::uint8_t { idle, list, watch, pause };
  enum class Next : std::uint8_t { list, watch };

  void on(const Started& input);
  void on(const ResponseHeaders& input);
  void on(const ResponseBytes& input);
  void on(const ResponseEnd& input);
  void on(const RequestFailed& input);
  void on(const Tick& input);

  void start(Next next);
  void request_page();
  void request_watch();
  void begin_request(Phase phase, StartRequest request);
  void leave_request();
  void take_page_bytes(const std::string& bytes);
  void take_watch_bytes(const std::string& bytes);
  LineSplitter::Next take_line(std::string_view line);
  void take_page();
  void end_list();
  void end_watch();
  void refuse(const Refusal& refusal);
  // Again at once, if it has not been so too often; else after a pause.
  void again(Reason reason, Next next);
  void fail(Reason reason, const std::string& text, Next next,
            std::optional<Duration> retry_after = std::nullopt);
  void pause(Next next, Duration wait);
  void count(Reason reason);
  void set_reachable(bool is_reachable);
  void say(Message::Level level, std::string text);
  // What is left of the history: whether a watch can go on where it was.
  Next where_it_was() const { return phase_ == Phase::watch ? Next::watch : Next::list; }

  const std::string node_;
  const WatchTiming timing_;
  const std::function<double()> chance_;

  Instant now_;
  std::vector<Effect>* effects_ = nullptr;  // of this step
  Update update_;                           // of this step
  Health health_;
  Health posted_;
  std::string said_;  // the failure that was last said; empty after a recovery

  Phase phase_ = Phase::idle;
  Next next_ = Next::list;  // after the pause
  std::optional<Instant> deadline_;
  std::optional<Instant> relist_at_;
  Backoff backoff_;
  int restarts_left_;              // at once
  bool has_second_chance_ = true;  // with a token or a CA that was read anew

  // Of the request under way.
  Instant started_;
  Duration watch_timeout_;
  int status_ = 0;  // 0: no answer yet
  std::optional<Duration> retry_after_;
  std::optional<Instant> watching_since_;
  bool has_heard_ = false;  // an event or a bookmark
  std::string body_;
  LineSplitter splitter_{kLineBytesMax};

  // Of the list under way.
  int page_pods_ = kPagePods;
  int pages_ = 0;
  std::string next_page_;
  std::vector<Pod> listed_;

  PodStore store_;
  ResourceVersion resource_version_;
};

}  // namespace nvs::kube
