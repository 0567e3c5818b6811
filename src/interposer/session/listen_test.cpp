// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/listen.h"

#include "interposer/resolve/clock.h"
#include "interposer/session/test_session.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

using session::Phase;

constexpr std::int64_t kPause_ns = 10'000'000'000;

class Listen : public SessionTest {
 protected:
  template <class Message>
  static void say(const Message& message) {
    wire::Packet<Message> packet;
    packet.message = message;
    session::hear(reinterpret_cast<const char*>(&packet), sizeof packet);
  }

  // A tenant of which threads wait at the gate; returns a time at which the daemon served it.
  static std::int64_t pause() {
    session::gpus[0].phase = Phase::closed;
    while (!gate::begin_close(0)) {
    }
    const std::int64_t before_ns = clock_ns();
    say(wire::Pause{.paused = 1});
    return before_ns;
  }
  static bool is_paused() { return session::paused && gate::is_closed(0); }
};

TEST_F(Listen, APauseOutlivesTheDaemonForAWhile) {
  const std::int64_t served_ns = pause();
  session::end_long_pause(served_ns + kPause_ns - 1);
  EXPECT_TRUE(is_paused());
  session::end_long_pause(clock_ns() + kPause_ns);
  EXPECT_FALSE(session::paused);
  EXPECT_FALSE(gate::is_closed(0));
}

// As one of another version does, or one that hangs after it has taken the connection.
TEST_F(Listen, ADaemonThatDoesNotServeUsDoesNotKeepUsPaused) {
  pause();
  const std::int64_t end_ns = clock_ns() + kPause_ns;
  say(wire::Welcome{.client = 1});
  say(wire::GpuKnown{.known = 1});
  say(wire::Goodbye{.reason = static_cast<wire::u32>(wire::GoodbyeReason::version)});
  session::end_long_pause(end_ns);
  EXPECT_FALSE(session::paused);
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Listen, ADaemonThatServesUsKeepsUsPaused) {
  pause();
  os::sleep_ns(1);
  const std::int64_t later_ns = clock_ns();
  say(wire::Pong{});
  session::end_long_pause(later_ns + kPause_ns - 1);
  EXPECT_TRUE(is_paused());
}

TEST_F(Listen, PacketsThatMakeNoSenseAreNotForUs) {
  pause();
  wire::Packet<wire::Open> packet;
  packet.message.ordinal = 30;
  session::hear(reinterpret_cast<const char*>(&packet), sizeof packet);
  session::hear(reinterpret_cast<const char*>(&packet), 7);
  EXPECT_TRUE(is_paused());
}

}  // namespace
}  // namespace nvs::interposer
