// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among threads that wait for room in one queue. What is short finds room where
// what is long does not, so that a thread with short work could keep another one waiting for as
// long as it has some. So whoever asked first comes first: others may come in before it only if
// they leave its room. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nvs::interposer::flow {

class FirstCome {
 public:
  // Whoever waits asks again within a millisecond; one that has not for so long waits no more, or
  // does not get to run.
  static constexpr std::int64_t kGone_ns = 5'000'000;
  // What runs may wait for one that is kept waiting for the first one's sake.
  static constexpr std::int64_t kPrecedence_ns = 10'000'000;
  static constexpr std::int64_t kNoLimit_ns = INT64_MAX;

  // How much may be queued by the time that one who asked then has come in.
  std::int64_t limit_ns(std::int64_t now_ns, std::int64_t since_ns) {
    if (is_gone(now_ns) || since_ns <= since_ns_) return kNoLimit_ns;
    if (kept_since_ns_ == 0) kept_since_ns_ = now_ns;
    return now_ns - kept_since_ns_ <= kPrecedence_ns ? enough_ns_ : kNoLimit_ns;
  }
  // It has to wait, until no more than that is queued.
  void waits(std::int64_t now_ns, std::int64_t since_ns, std::int64_t enough_ns) {
    const bool is_new = is_gone(now_ns);
    if (!is_new && since_ns > since_ns_) return;
    if (is_new || since_ns != since_ns_) kept_since_ns_ = 0;
    is_there_ = true;
    since_ns_ = since_ns;
    asked_ns_ = now_ns;
    enough_ns_ = std::max<std::int64_t>(enough_ns, 0);
  }
  // It has come in, or asks no more.
  void leaves(std::int64_t since_ns) {
    if (since_ns == since_ns_) *this = {};
  }

 private:
  bool is_gone(std::int64_t now_ns) const { return !is_there_ || now_ns - asked_ns_ > kGone_ns; }

  bool is_there_ = false;       // somebody waits
  std::int64_t since_ns_ = 0;   // when the first of them asked first
  std::int64_t asked_ns_ = 0;   // and when it last did
  std::int64_t enough_ns_ = 0;  // it comes in when no more is queued
  // When somebody else was first kept waiting for its sake; 0: nobody was.
  std::int64_t kept_since_ns_ = 0;
};

}  // namespace nvs::interposer::flow
