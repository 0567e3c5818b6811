// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/registration.h"

#include <gtest/gtest.h>

#include "device_plugin/socket_names.h"

namespace nvs::plugin {
namespace {

using Effects = Registration::Effects;

class RegistrationTest : public ::testing::Test {
 protected:
  RegistrationTest() : registration_([this] { return "s" + std::to_string(++sockets_); }) {}

  void after(Duration span) { now_ += span; }
  // What came out since the last time.
  Effects took() { return std::exchange(out_, {}); }
  Effects ticked(Duration span) {
    after(span);
    registration_.tick(now_, out_);
    return took();
  }
  // Registered with the socket of that number, the stream open.
  void settle(const std::string& socket) {
    registration_.served(now_, socket, Outcome::good, out_);
    registration_.registered(now_, socket, Outcome::good, out_);
    registration_.stream_began(now_, socket);
    took();
    EXPECT_TRUE(registration_.is_ready());
  }

  unsigned sockets_ = 0;
  Instant now_ = Instant::from_ns(1);
  Effects out_;
  Registration registration_;
};

TEST_F(RegistrationTest, ServesThenRegistersThenDropsTheOld) {
  registration_.start(now_, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s1"}}));
  registration_.served(now_, "s1", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Announce{"s1"}}));
  registration_.registered(now_, "s1", Outcome::good, out_);
  EXPECT_EQ(took(), Effects{});
  EXPECT_FALSE(registration_.is_ready());
  registration_.stream_began(now_, "s1");
  EXPECT_TRUE(registration_.is_ready());
  EXPECT_FALSE(registration_.next_deadline());

  registration_.reload(now_, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s2"}}));
  registration_.served(now_, "s2", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Announce{"s2"}}));
  EXPECT_TRUE(registration_.is_ready());  // the old one serves on
  registration_.registered(now_, "s2", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Drop{"s1"}}));
  // That its stream ends is no news.
  registration_.stream_began(now_, "s2");
  registration_.stream_ended(now_, "s1", out_);
  EXPECT_EQ(took(), Effects{});
  EXPECT_TRUE(registration_.is_ready());
}

TEST_F(RegistrationTest, EachTriggerMakesAFreshSocket) {
  registration_.start(now_, out_);
  settle("s1");
  registration_.kubelet_came(now_, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s2"}}));
  settle("s2");
  registration_.socket_removed(now_, "s2", out_);
  EXPECT_EQ(took(), (Effects{Serve{"s3"}}));
  settle("s3");
  after(Registration::kSteady);
  registration_.stream_ended(now_, "s3", out_);
  EXPECT_EQ(took(), (Effects{Serve{"s4"}}));
  settle("s4");
  registration_.reload(now_, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s5"}}));
}

TEST_F(RegistrationTest, WhatIsNoLongerOursTriggersNothing) {
  registration_.start(now_, out_);
  settle("s1");
  registration_.socket_removed(now_, "s0", out_);
  registration_.stream_ended(now_, "s0", out_);
  registration_.served(now_, "s0", Outcome::good, out_);
  registration_.registered(now_, "s0", Outcome::failed, out_);
  EXPECT_EQ(took(), Effects{});
  EXPECT_TRUE(registration_.is_ready());
}

TEST_F(RegistrationTest, FailuresAreTriedAgainEverMoreSeldomAndNeverOnOnePath) {
  registration_.start(now_, out_);
  Duration wait = Registration::kBackOffFirst;
  for (unsigned attempt = 1; attempt <= 12; ++attempt) {
    const std::string socket = "s" + std::to_string(attempt);
    EXPECT_EQ(took(), (Effects{Serve{socket}}));
    registration_.served(now_, socket, Outcome::good, out_);
    took();
    registration_.registered(now_, socket, Outcome::failed, out_);
    EXPECT_EQ(took(), (Effects{Drop{socket}}));
    EXPECT_EQ(registration_.next_deadline(), now_ + wait);
    EXPECT_EQ(ticked(wait - Duration::from_ns(1)), Effects{});
    after(Duration::from_ns(1));
    registration_.tick(now_, out_);
    wait = std::min(wait * 2, Registration::kBackOffMost);
  }
  EXPECT_EQ(wait, Registration::kBackOffMost);
}

TEST_F(RegistrationTest, ASocketThatCannotBeServedIsTriedAgain) {
  registration_.start(now_, out_);
  took();
  registration_.served(now_, "s1", Outcome::failed, out_);
  EXPECT_EQ(took(), (Effects{Drop{"s1"}}));
  EXPECT_EQ(ticked(Registration::kBackOffFirst), (Effects{Serve{"s2"}}));
}

TEST_F(RegistrationTest, AKubeletThatComesEndsTheWaiting) {
  registration_.start(now_, out_);
  for (unsigned attempt = 1; attempt <= 6; ++attempt) {
    registration_.registered(now_, "s" + std::to_string(attempt), Outcome::failed, out_);
    ticked(Registration::kBackOffMost);
  }
  registration_.registered(now_, "s7", Outcome::failed, out_);
  took();
  registration_.kubelet_came(now_, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s8"}}));
  // It came while an attempt was under way, which fails: the next one is made at once.
  registration_.kubelet_came(now_, out_);
  EXPECT_EQ(took(), Effects{});
  registration_.registered(now_, "s8", Outcome::failed, out_);
  EXPECT_EQ(took(), (Effects{Drop{"s8"}, Serve{"s9"}}));
}

TEST_F(RegistrationTest, AnAttemptThatReachedTheNewKubeletIsNotRepeated) {
  registration_.start(now_, out_);
  registration_.kubelet_came(now_, out_);
  took();
  registration_.served(now_, "s1", Outcome::good, out_);
  registration_.registered(now_, "s1", Outcome::good, out_);
  registration_.stream_began(now_, "s1");
  EXPECT_EQ(took(), (Effects{Announce{"s1"}}));
  EXPECT_EQ(ticked(Duration::from_s(3600)), Effects{});
}

TEST_F(RegistrationTest, ASocketRemovedDuringItsRegistrationIsReplaced) {
  registration_.start(now_, out_);
  took();
  registration_.socket_removed(now_, "s1", out_);
  registration_.registered(now_, "s1", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s2"}}));
  registration_.registered(now_, "s2", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Drop{"s1"}}));
}

TEST_F(RegistrationTest, AKubeletThatNeverListensIsAskedAgain) {
  registration_.start(now_, out_);
  registration_.registered(now_, "s1", Outcome::good, out_);
  took();
  EXPECT_EQ(registration_.next_deadline(), now_ + Registration::kStreamPatience);
  EXPECT_EQ(ticked(Registration::kStreamPatience), Effects{});
  EXPECT_EQ(ticked(Registration::kBackOffFirst), (Effects{Serve{"s2"}}));
}

TEST_F(RegistrationTest, StreamsThatEndAtOnceDoNotMakeItSpin) {
  registration_.start(now_, out_);
  Duration waited;
  for (unsigned attempt = 1; attempt <= 10; ++attempt) {
    const std::string socket = "s" + std::to_string(attempt);
    settle(socket);
    registration_.stream_ended(now_, socket, out_);
    EXPECT_EQ(took(), Effects{});
    ASSERT_TRUE(registration_.next_deadline());
    const Duration wait = *registration_.next_deadline() - now_;
    EXPECT_GE(wait, waited);
    waited = wait;
    EXPECT_EQ(ticked(wait).size(), 1U);
  }
  EXPECT_EQ(waited, Registration::kBackOffMost);
}

TEST_F(RegistrationTest, AStreamThatEndedBeforeTheAnswerCameCounts) {
  registration_.start(now_, out_);
  registration_.served(now_, "s1", Outcome::good, out_);
  registration_.stream_began(now_, "s1");
  registration_.stream_ended(now_, "s1", out_);
  took();
  registration_.registered(now_, "s1", Outcome::good, out_);
  EXPECT_FALSE(registration_.is_ready());
  EXPECT_EQ(ticked(Registration::kBackOffFirst), (Effects{Serve{"s2"}}));
}

TEST_F(RegistrationTest, SettingsThatChangeDuringAnAttemptAreRegisteredAfterIt) {
  registration_.start(now_, out_);
  took();
  registration_.reload(now_, out_);
  EXPECT_EQ(took(), Effects{});
  registration_.registered(now_, "s1", Outcome::good, out_);
  EXPECT_EQ(took(), (Effects{Serve{"s2"}}));
}

TEST_F(RegistrationTest, StoppedMeansStopped) {
  registration_.start(now_, out_);
  settle("s1");
  registration_.reload(now_, out_);
  took();
  registration_.stop(out_);
  EXPECT_EQ(took(), (Effects{Drop{"s2"}, Drop{"s1"}}));
  registration_.stream_ended(now_, "s1", out_);
  registration_.registered(now_, "s2", Outcome::good, out_);
  registration_.kubelet_came(now_, out_);
  registration_.reload(now_, out_);
  EXPECT_EQ(took(), Effects{});
  EXPECT_FALSE(registration_.next_deadline());
}

TEST(SocketNames, AreNeverTheSame) {
  SocketNames names(1, 0xabcU);
  EXPECT_EQ(names.next("nvshare.com/gpu"), "nvshare-gpu-1-00000abc-1.sock");
  EXPECT_EQ(names.next("nvidia.com/gpu"), "nvshare-gpu-1-00000abc-2.sock");
  // In a container every process has the pid 1.
  EXPECT_NE(SocketNames(1, 0xabdU).next("nvshare.com/gpu"),
            SocketNames(1, 0xabcU).next("nvshare.com/gpu"));
  const std::string longest = names.next("nvshare.com/" + std::string(51, 'g'));
  EXPECT_LE(std::string("/var/lib/kubelet/device-plugins/").size() + longest.size(), 107U);
  EXPECT_TRUE(is_our_socket(longest));
  for (const char* other : {"kubelet.sock", "nvidia-gpu.sock", "nvshare-gpu.txt"}) {
    EXPECT_FALSE(is_our_socket(other));
  }
}

}  // namespace
}  // namespace nvs::plugin
