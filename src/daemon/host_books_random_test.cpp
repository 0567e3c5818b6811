// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/host_books.h"

namespace nvs::daemon {
namespace {

constexpr std::uint64_t kRandomSegment = std::uint64_t{2} << 20U;

// Random events, answers in random order, checked against books of another make.
class RandomHost {
 public:
  explicit RandomHost(unsigned seed) : random_(seed) {}

  void step() {
    switch (pick(10)) {
      case 0:
        if (clients_.size() < 12) join();
        break;
      case 1:
        if (pick(4) == 0) leave();
        break;
      case 2:
        need();
        break;
      case 3:
        give_back();
        break;
      case 4:
        keep();
        break;
      case 5:
        lack();
        break;
      default:
        finish_one(true);
        break;
    }
    take_actions();
    check();
  }
  void end() {
    while (!clients_.empty()) {
      leave();
      take_actions();
    }
    while (!work_.empty()) {
      finish_one(false);
      take_actions();
    }
    const HostView view = books_.view();
    EXPECT_TRUE(segments_.empty());
    EXPECT_EQ(view.held_bytes + view.kept_bytes + view.promised_bytes + view.ready_bytes +
                  view.touching_bytes + view.freeing_bytes,
              0U);
    EXPECT_TRUE(view.tenants.empty());
  }
  std::uint64_t given() const { return given_ever_; }

 private:
  enum class State { touching, ready, held, freeing };
  struct Segment {
    State state;
    core::TenantId tenant;
    core::ClientId client;
  };
  struct Request {
    std::uint64_t open_bytes;  // neither given nor denied
  };
  struct Client {
    core::TenantId tenant;
    std::map<std::uint64_t, Request> requests;
    std::uint64_t kept_bytes = 0;  // of what it says, what counts
    bool is_short = false;         // as it was told
  };

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  auto pick_client() {
    auto found = clients_.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(pick(clients_.size())));
    return found;
  }

  void join() {
    const core::ClientId id{++ever_};
    const core::TenantId of{pick(4)};
    clients_[id] = {of, {}, 0, false};
    books_.join(id, of, actions_);
  }
  void leave() {
    if (clients_.empty()) return;
    const auto client = pick_client();
    books_.leave(client->first, actions_);
    clients_.erase(client);
  }
  void need() {
    if (clients_.empty()) return;
    const auto client = pick_client();
    const std::uint64_t bytes = 1 + pick(6 * kRandomSegment);
    client->second.requests[++ever_] = {bytes};
    books_.need(client->first, ever_, bytes, actions_);
  }
  void lack() {
    if (clients_.empty()) return;
    books_.lack(pick_client()->first, pick(2) * pick(6 * kRandomSegment), actions_);
  }
  void keep() {
    if (clients_.empty()) return;
    const auto client = pick_client();
    const std::uint64_t bytes = pick(2) * pick(6 * kRandomSegment);
    const std::uint64_t others = books_.view().kept_bytes - client->second.kept_bytes;
    books_.keep(client->first, bytes, actions_);
    client->second.kept_bytes = books_.view().kept_bytes - others;
    EXPECT_LT(client->second.kept_bytes, bytes + kRandomSegment);
  }
  void give_back() {
    for (const auto& [id, segment] : segments_) {
      if (segment.state != State::held || pick(3) != 0) continue;
      EXPECT_TRUE(books_.give_back(segment.client, id, actions_));
      return;
    }
  }
  void finish_one(bool may_fail) {
    if (work_.empty()) return;
    const std::size_t at = pick(work_.size());
    const SegmentId id = work_[at];
    work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(at));
    if (segments_.at(id).state == State::freeing) {
      segments_.erase(id);
      books_.freed(id, actions_);
    } else if (may_fail && pick(20) == 0) {
      books_.failed(id, actions_);
    } else {
      segments_.at(id).state = State::ready;
      books_.touched(id, actions_);
    }
  }

  void take_actions() {
    for (const HostBooks::Action& action : actions_) {
      std::visit([this](const auto& one) { take(one); }, action);
    }
    actions_.clear();
  }
  void take(const HostBooks::Touch& touch) {
    EXPECT_TRUE(segments_.emplace(touch.segment, Segment{State::touching, {}, {}}).second);
    EXPECT_GT(static_cast<std::uint64_t>(touch.segment), newest_) << "a number is used once";
    newest_ = static_cast<std::uint64_t>(touch.segment);
    work_.push_back(touch.segment);
  }
  void take(const HostBooks::Free& free) {
    Segment& segment = segments_.at(free.segment);
    EXPECT_NE(segment.state, State::freeing);
    segment.state = State::freeing;
    work_.push_back(free.segment);
  }
  void take(const HostBooks::HandOver& given) {
    ++given_ever_;
    Segment& segment = segments_.at(given.segment);
    EXPECT_EQ(segment.state, State::ready) << "fresh, and never anybody's before";
    const auto client = clients_.find(given.client);
    ASSERT_NE(client, clients_.end());
    segment = {State::held, client->second.tenant, given.client};
    if (given.request == 0) return;  // it lacked some
    std::uint64_t& open = client->second.requests.at(given.request).open_bytes;
    EXPECT_GT(open, 0U) << "more than was asked for";
    open -= std::min(open, kRandomSegment);
  }
  void take(const HostBooks::TellShort& told) {
    EXPECT_TRUE(clients_.contains(told.client));
    clients_.at(told.client).is_short = told.is_short;
  }
  void take(const HostBooks::Deny& deny) {
    std::uint64_t& open = clients_.at(deny.client).requests.at(deny.request).open_bytes;
    EXPECT_GE(open, deny.bytes);
    open -= deny.bytes;
  }

  void check() {
    std::map<State, std::uint64_t> count;
    std::map<core::TenantId, std::uint64_t> by_tenant;
    for (const auto& [id, segment] : segments_) {
      ++count[segment.state];
      if (segment.state != State::held) continue;
      by_tenant[segment.tenant] += kRandomSegment;
      EXPECT_TRUE(clients_.contains(segment.client)) << "held by one who left";
    }
    std::uint64_t kept = 0;
    for (const auto& [id, client] : clients_) {
      kept += client.kept_bytes;
      if (client.kept_bytes > 0) by_tenant[client.tenant] += client.kept_bytes;
    }
    const HostView view = books_.view();
    EXPECT_EQ(view.kept_bytes, kept);
    EXPECT_LE(segments_.size() * kRandomSegment, view.cap_bytes);
    EXPECT_EQ(view.touching_bytes, count[State::touching] * kRandomSegment);
    EXPECT_EQ(view.ready_bytes, count[State::ready] * kRandomSegment);
    EXPECT_EQ(view.held_bytes, count[State::held] * kRandomSegment);
    EXPECT_EQ(view.freeing_bytes, count[State::freeing] * kRandomSegment);
    EXPECT_EQ(view.tenants, by_tenant);
    std::uint64_t promised = 0;
    for (const auto& [id, client] : clients_) {
      for (const auto& [number, request] : client.requests) {
        promised += (request.open_bytes + kRandomSegment - 1) / kRandomSegment;
      }
    }
    EXPECT_GE(view.promised_bytes, promised * kRandomSegment);  // more for those who lack some
    EXPECT_TRUE(std::all_of(clients_.begin(), clients_.end(), [&](const auto& one) {
      return one.second.is_short == clients_.begin()->second.is_short;
    })) << "all are told the same";
    EXPECT_LE(view.promised_bytes + view.held_bytes + kept, view.cap_bytes);
    EXPECT_LE(view.ready_bytes, clients_.empty() ? 0 : kReserve * kRandomSegment);
    if (!work_.empty()) return;
    EXPECT_EQ(view.promised_bytes, 0U) << "somebody waits, and nothing is done for it";
    EXPECT_LE(segments_.size() * kRandomSegment + kept, view.cap_bytes);
  }

  std::mt19937_64 random_;
  static constexpr std::uint64_t kReserve = 3;
  HostBooks books_{HostPlan{15 * kRandomSegment, kRandomSegment, 15, kReserve}};
  HostBooks::Actions actions_;
  std::uint64_t ever_ = 0;
  std::uint64_t newest_ = 0;
  std::uint64_t given_ever_ = 0;
  std::map<core::ClientId, Client> clients_;
  std::map<SegmentId, Segment> segments_;
  std::vector<SegmentId> work_;  // being touched or freed
};

TEST(HostBooksRandom, AgreeWithBooksOfAnotherMake) {
  for (unsigned seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHost host(seed);
    for (int i = 0; i < 1000 && !::testing::Test::HasFailure(); ++i) host.step();
    EXPECT_GT(host.given(), 20U);
    host.end();
  }
}

}  // namespace
}  // namespace nvs::daemon
