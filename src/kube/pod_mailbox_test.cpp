// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_mailbox.h"

#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "kube/limits.h"

namespace nvs::kube {
namespace {

using Kind = PodChange::Kind;

PodChange change(Kind kind, const std::string& uid, const std::string& value = "") {
  return {kind, Pod{uid, "lab", uid, {{"nvshare.com/x", value}}}};
}

class PodMailboxTest : public ::testing::Test {
 protected:
  void post(Kind kind, const std::string& uid, const std::string& value = "") {
    mailbox_.post({{change(kind, uid, value)}, std::nullopt, {}});
  }
  bool is_readable() const {
    pollfd wanted{mailbox_.fd(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
  }

  PodMailbox mailbox_ = *PodMailbox::create();
};

TEST_F(PodMailboxTest, IsReadableWhileThereIsSomething) {
  EXPECT_FALSE(is_readable());
  EXPECT_TRUE(mailbox_.take().is_empty());
  mailbox_.post({});
  EXPECT_FALSE(is_readable());
  post(Kind::added, "a");
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(mailbox_.take().changes.size(), 1U);
  EXPECT_FALSE(is_readable());
}

// What the owner ends up with is what it would have with every single change, whatever it is that
// follows whatever.
TEST_F(PodMailboxTest, TheSumOfChangesIsOneChange) {
  struct Case {
    Kind first;
    Kind second;
    std::optional<Kind> sum;
  };
  for (const Case& one : {Case{Kind::added, Kind::changed, Kind::added},
                          Case{Kind::added, Kind::removed, std::nullopt},
                          Case{Kind::changed, Kind::changed, Kind::changed},
                          Case{Kind::changed, Kind::removed, Kind::removed},
                          Case{Kind::removed, Kind::added, Kind::changed}}) {
    post(one.first, "a", "1");
    post(one.second, "a", "2");
    const Update update = mailbox_.take();
    std::vector<PodChange> expected;
    if (one.sum) expected.push_back(change(*one.sum, "a", "2"));
    EXPECT_EQ(update.changes, expected) << static_cast<int>(one.first);
  }
}

TEST_F(PodMailboxTest, ThePodHeardOfFirstComesFirst) {
  for (const char* uid : {"b", "a", "c", "b"}) post(Kind::changed, uid);
  const Update update = mailbox_.take();
  ASSERT_EQ(update.changes.size(), 3U);
  EXPECT_EQ(update.changes[0].pod.uid, "b");
  EXPECT_EQ(update.changes[1].pod.uid, "a");
}

TEST_F(PodMailboxTest, AnOwnerThatNeverLooksDoesNotMakeItGrow) {
  for (int i = 0; i < 10'000; ++i) {
    mailbox_.post({{}, Health{.last_error = std::to_string(i)}, {{Message::Level::info, "x"}}});
    post(Kind::added, std::to_string(i));
    post(Kind::changed, "always", std::to_string(i));
    post(Kind::removed, std::to_string(i));
  }
  const Update update = mailbox_.take();
  EXPECT_EQ(update.changes.size(), 1U);
  EXPECT_EQ(update.changes[0].pod.annotations.at("nvshare.com/x"), "9999");
  EXPECT_EQ(update.health->last_error, "9999");
  EXPECT_EQ(update.messages.size(), kMessagesMax);
}

// A thread of its own posts; whoever takes ends with what was posted last, and hears of all.
TEST_F(PodMailboxTest, NothingIsLostBetweenThreads) {
  constexpr int kPosts = 20'000;
  std::thread other([this] {
    for (int i = 0; i < kPosts; ++i) post(Kind::changed, std::to_string(i % 7), std::to_string(i));
  });
  std::map<std::string, std::string> last;
  while (last["6"] != std::to_string(kPosts - 1 - (kPosts - 1 - 6) % 7)) {
    pollfd wanted{mailbox_.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&wanted, 1, 60'000), 1);
    for (const PodChange& one : mailbox_.take().changes)
      last[one.pod.uid] = one.pod.annotations.at("nvshare.com/x");
  }
  other.join();
  for (const PodChange& one : mailbox_.take().changes)
    last[one.pod.uid] = one.pod.annotations.at("nvshare.com/x");
  std::set<std::string> values;
  for (const auto& [uid, value] : last) values.insert(value);
  for (int i = kPosts - 7; i < kPosts; ++i) EXPECT_EQ(values.count(std::to_string(i)), 1U) << i;
}

}  // namespace
}  // namespace nvs::kube
