// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/listen.h"

#include <atomic>
#include <thread>

#include <pthread.h>
#include <time.h>

#include "interposer/gate/waits.h"
#include "interposer/memory/fake_account.h"
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
  static void say(const Message& message, int file = -1) {
    wire::Packet<Message> packet;
    packet.message = message;
    session::hear(reinterpret_cast<const char*>(&packet), sizeof packet, file);
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

TEST_F(Listen, TheAccountOfANewerDaemonIsNotThatOfAnOlderOne) {
  const account::FakeAccount tenant(1000);
  const wire::MemoryAccount message{.slot = 0, .zero = 0, .bytes = sizeof(wire::AccountFile)};
  say(message, ::dup(tenant.fd()));
  say(wire::Welcome{.client = 1});
  say(wire::GpuKnown{.ordinal = 0, .known = 1});
  EXPECT_EQ(account::reserve(0, 1001), account::Verdict::over);
  wire::Packet<wire::Welcome> old;
  old.header.version = 1;
  session::hear(reinterpret_cast<const char*>(&old), sizeof old, -1);
  say(wire::GpuKnown{.ordinal = 0, .known = 1});
  EXPECT_EQ(account::reserve(0, 1001), account::Verdict::unlimited);
}

TEST_F(Listen, TheTenantsAccountCountsFromTheFirstWordAboutAGpu) {
  const account::FakeAccount tenant(1000);
  const wire::MemoryAccount message{.slot = 1, .zero = 0, .bytes = sizeof(wire::AccountFile)};
  say(message);  // without the file
  EXPECT_FALSE(account::is_any());
  const int file = ::dup(tenant.fd());
  say(message, file);
  EXPECT_TRUE(account::is_any());
  EXPECT_EQ(::fcntl(file, F_GETFD), -1);  // closed
  EXPECT_EQ(account::reserve(0, 1001), account::Verdict::unlimited);
  say(wire::GpuKnown{.ordinal = 0, .known = 1, .gpu = 5});
  EXPECT_EQ(account::reserve(0, 1001), account::Verdict::over);
  EXPECT_EQ(account::reserve(0, 1000), account::Verdict::reserved);
  EXPECT_EQ(tenant.used(1, 5), 1000U);
  say(wire::GpuKnown{.ordinal = 0, .known = 0});
  EXPECT_EQ(tenant.used(1, 5), 0U);
  memory::books().after_fork();
}

TEST_F(Listen, AWordIsDueUntilItIsObeyed) {
  EXPECT_FALSE(session::is_word_due());
  send_to_us(wire::Pause{.paused = 1});
  EXPECT_TRUE(session::is_word_due());
  std::thread listener;
  {
    const os::FutexGuard guard(session::lock);  // which the listener needs to obey
    listener = std::thread([] { EXPECT_TRUE(session::hear_all()); });
    while (connection::has_unread()) std::this_thread::yield();
    EXPECT_TRUE(session::is_word_due());
  }
  listener.join();
  EXPECT_TRUE(session::paused);
  EXPECT_FALSE(session::is_word_due());
}

TEST_F(Listen, WithoutADaemonNoWordIsDue) {
  send_to_us(wire::Pong{});
  connection::disconnect();
  EXPECT_FALSE(session::is_word_due());
}

// Of a thread, so far.
std::int64_t processor_ns(std::thread& thread) {
  clockid_t clock{};
  EXPECT_EQ(::pthread_getcpuclockid(thread.native_handle(), &clock), 0);
  timespec used{};
  EXPECT_EQ(::clock_gettime(clock, &used), 0);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// The word closes the gate, and the listener has read it and is not through with it.
TEST_F(Listen, WhoeverHasWaitedForRoomWaitsForTheListenerToo) {
  constexpr flow::Room kSoon{.wait_ns = 1, .sleep_ns = 1, .counted = false};
  constexpr std::int64_t kHour_ns = 3'600'000'000'000;
  constexpr std::int64_t kEnough_ns = 2'000'000;  // to be through if nothing keeps it
  gpu().phase = Phase::open;
  gpu().grant = 7;
  send_to_us(wire::Close{.ordinal = 0, .grant = 7});
  std::atomic<bool> is_through{false};
  bool saw_closed = false;
  std::thread listener;
  std::thread waiter;
  {
    const os::FutexGuard guard(session::lock);
    listener = std::thread([] { EXPECT_TRUE(session::hear_all()); });
    while (connection::has_unread()) std::this_thread::yield();
    waiter = std::thread([&] {
      gate::waits::for_room(gate::waits::changes(), kSoon, kHour_ns);
      saw_closed = gate::is_closed(0);
      is_through = true;
    });
    while (!is_through && processor_ns(waiter) < kEnough_ns) std::this_thread::yield();
  }
  waiter.join();
  listener.join();
  EXPECT_TRUE(saw_closed);
}

TEST_F(Listen, NobodyWaitsForItWhereThereAreNotEnoughProcessors) {
  constexpr flow::Room kSoon{.wait_ns = 1, .sleep_ns = 1, .counted = false};
  constexpr std::int64_t kHour_ns = 3'600'000'000'000;
  send_to_us(wire::Pong{});
  gate::waits::kept_from_running();
  gate::waits::for_room(gate::waits::changes(), kSoon, kHour_ns);
  EXPECT_TRUE(session::is_word_due());
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
