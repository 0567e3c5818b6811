// SPDX-License-Identifier: Apache-2.0
#include "daemon/visitors.h"

#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::daemon {
namespace {

// A process that has connected `connections` times, and lives until it is told to end.
class Program {
 public:
  Program(const std::string& path, int connections) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<UniqueFd> fds;
      for (int i = 0; i < connections; ++i) {
        fds.push_back(*os::connect_unix(path, os::SocketKind::packets));
      }
      if (::write(ready[1], "x", 1) == 1) fds.clear();  // the daemon sees it go before it looks
      while (true) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

class VisitorsTest : public ::testing::Test {
 protected:
  // What the daemon does with each connection that waits: it is added and closed at once.
  void take(Visitors& visitors, int connections) {
    for (int i = 0; i < connections; ++i) {
      const auto accepted = os::accept_unix(listener_.get());
      ASSERT_TRUE(accepted);
      visitors.add(accepted->get());
    }
  }

  TestFolder folder_;
  os::EventLoop loop_ = *os::EventLoop::create();
  std::string path_ = folder_.path("socket");
  UniqueFd listener_ = *os::listen_unix(path_, os::SocketKind::packets, 0600);
};

TEST_F(VisitorsTest, AProcessCountsUntilItEnds) {
  Visitors visitors(loop_, 10);
  Program first(path_, 1);
  Program second(path_, 1);
  take(visitors, 2);
  EXPECT_EQ(visitors.count(), 2U);
  ASSERT_TRUE(loop_.run_round(os::monotonic_now()));
  EXPECT_EQ(visitors.count(), 2U) << "their connections are closed";
  first.end();
  ASSERT_TRUE(loop_.run_round(std::nullopt));
  EXPECT_EQ(visitors.count(), 1U);
  second.end();
  ASSERT_TRUE(loop_.run_round(std::nullopt));
  EXPECT_EQ(visitors.count(), 0U);
}

TEST_F(VisitorsTest, ManyConnectionsOfAProcessAreOneProcess) {
  Visitors visitors(loop_, 10);
  Program program(path_, 5);
  take(visitors, 5);
  EXPECT_EQ(visitors.count(), 1U);
}

TEST_F(VisitorsTest, NoMoreAreKeptThanAllowed) {
  Visitors visitors(loop_, 1);
  Program first(path_, 1);
  take(visitors, 1);
  Program second(path_, 1);
  take(visitors, 1);
  EXPECT_EQ(visitors.count(), 1U);
  first.end();
  ASSERT_TRUE(loop_.run_round(std::nullopt));
  EXPECT_EQ(visitors.count(), 0U) << "it was the first that was kept";
}

TEST_F(VisitorsTest, WhoHasEndedBeforeItIsLookedAtDoesNotCount) {
  Visitors visitors(loop_, 10);
  Program program(path_, 1);
  program.end();
  take(visitors, 1);
  ASSERT_TRUE(loop_.run_round(os::monotonic_now()));
  EXPECT_EQ(visitors.count(), 0U);
}

}  // namespace
}  // namespace nvs::daemon
