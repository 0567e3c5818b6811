// SPDX-License-Identifier: Apache-2.0
// A watch machine and the API server that its tests play to it: inputs in, a line of words out for
// what the machine wants done.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/watch_machine.h"

namespace nvs::kube {

class TestMachine {
 public:
  explicit TestMachine(const WatchTiming& timing = {});

  // Each returns the effects: "list", "list:TOKEN", "watch:VERSION", "cancel", "ca", "+uid",
  // "~uid",
  // "-uid", "reachable", "unreachable", "!TEXT" for a message.
  std::string start() { return step(Started{}); }
  std::string headers(int status = 200) { return step(ResponseHeaders{status, std::nullopt}); }
  std::string headers(int status, Duration retry_after) {
    return step(ResponseHeaders{status, retry_after});
  }
  std::string bytes(std::string_view text) { return step(ResponseBytes{std::string(text)}); }
  std::string end() { return step(ResponseEnd{}); }
  std::string fail(Reason reason) { return step(RequestFailed{reason, "no luck"}); }
  std::string tick() { return step(Tick{}); }
  // Lets time pass and ticks at each deadline on the way; ends with a tick.
  std::string pass(Duration span);

  // A whole answer.
  std::string answer(int status, std::string_view body);
  std::string refuse(int status, std::string_view reason, std::string_view message = "because");
  // From the start to a watch on that list.
  std::string reach_watch(std::string_view version = "10");

  Duration until_deadline() const { return *machine.next_deadline() - now; }
  const std::string& target() const { return target_; }

  Instant now = Instant::from_ns(1'000'000'000'000);
  double chance = 0;
  WatchMachine machine;

 private:
  std::string step(const Input& input);

  std::string target_;  // of the last request
  bool was_reachable_ = false;
};

// Bodies and lines as servers write them.
std::string pod_json(std::string_view uid, std::string_view limit, std::string_view version);
std::string list_json(const std::vector<std::string>& pods, std::string_view version,
                      std::string_view next = "");
std::string event_line(std::string_view type, std::string_view object);
std::string bookmark_line(std::string_view version);
std::string status_json(int code, std::string_view reason, std::string_view message = "because");

}  // namespace nvs::kube
