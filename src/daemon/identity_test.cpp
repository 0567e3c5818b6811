// SPDX-License-Identifier: Apache-2.0
#include "daemon/identity.h"

#include <functional>
#include <string>

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::daemon {
namespace {

const std::string kId = "3f4e1c0d9b8a7f6e5d4c3b2a190807060504030201f0e0d0c0b0a09080706050";
constexpr const char* kStat =
    "1 (a) b) S 1 2 3 4 5 0 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21 22\n";
// Of a thread that has ended.
constexpr const char* kEndedStat =
    "1 (a) b) Z 1 2 3 4 5 4227148 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21 22\n";

// A /proc in which this process is what the test says.
class FakeProc {
 public:
  FakeProc(const std::string& cgroups, const std::string& own_cgroups) {
    const std::string pid = std::to_string(::getpid());
    folder_.write(pid + "/cgroup", cgroups);
    folder_.write(pid + "/stat", kStat);
    folder_.write("self/cgroup", own_cgroups);
    folder_.write("self/stat", kStat);
  }
  const char* root() const { return folder_.path().c_str(); }
  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
};

struct Pair {
  UniqueFd a, b;
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    a.reset(fds[0]);
    b.reset(fds[1]);
  }
};

// The end of a connection whose other end was connected by a child that then runs `rest`.
class ChildPeer {
 public:
  explicit ChildPeer(const std::function<void()>& rest) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    folder_.path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd listener{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), generic, sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const UniqueFd client{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
      if (::connect(client.get(), generic, sizeof address) == 0) rest();
      ::_exit(0);
    }
    fd_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(fd_);
  }
  ~ChildPeer() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    reap();
  }
  ChildPeer(const ChildPeer&) = delete;
  ChildPeer& operator=(const ChildPeer&) = delete;

  int fd() const { return fd_.get(); }
  pid_t pid() const { return pid_; }
  void reap() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Until it is a zombie.
  void wait_for_end() const {
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  }

 private:
  TestFolder folder_;
  UniqueFd fd_;
  pid_t pid_ = 0;
};

TEST(Identify, ContainerOutranksRunAndProcess) {
  const FakeProc proc("0::/docker/" + kId + "/leaf\n", "0::/system.slice/nvshare.service\n");
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0x1234, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  EXPECT_EQ(peer->tenant_key, "container:/docker/" + kId);
  EXPECT_EQ(peer->container, "3f4e1c0d9b8a");
  EXPECT_TRUE(peer->in_container);
}

TEST(Identify, AUsersContainerIsATenantAndOfThatUser) {
  const std::string manager = "/user.slice/user-1000.slice/user@1000.service/";
  const FakeProc proc("0::" + manager + kId + ".scope\n", "0::/system.slice/nvshare.service\n");
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->tenant_key, "container:" + manager + kId + ".scope");
  EXPECT_EQ(peer->slice_user, std::optional<uid_t>(1000));
}

TEST(Identify, SlicesInsideOfAContainerMeanNothing) {
  const std::string container = "/system.slice/docker-" + kId + ".scope";
  const FakeProc proc("0::" + container + "/user.slice/user-1000.slice/session-1.scope\n",
                      "0::/system.slice/nvshare.service\n");
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->tenant_key, "container:" + container);
  EXPECT_EQ(peer->slice_user, std::nullopt);
}

TEST(Identify, RunOutranksProcess) {
  const FakeProc proc("0::/user.slice\n", "0::/\n");
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0xabc, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->tenant_key, "run:" + std::to_string(::geteuid()) + ":0000000000000abc");
  EXPECT_EQ(peer->container, "");
  EXPECT_FALSE(peer->in_container);
}

TEST(Identify, AProcessIsItsNumberAndStart) {
  const FakeProc proc("0::/user.slice\n", "0::/\n");
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->tenant_key, "process:" + std::to_string(::getpid()) + ":777");
}

TEST(Identify, ADaemonInTheSameContainerTellsProcessesApart) {
  const std::string same = "0::/docker/" + kId + "\n";
  const FakeProc proc(same, same);
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 7, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_FALSE(peer->in_container);
  EXPECT_TRUE(peer->tenant_key.starts_with("run:"));
}

TEST(Identify, WithoutCgroupsThereAreNoContainers) {
  const FakeProc proc("", "");
  std::filesystem::remove(proc.folder().path(std::to_string(::getpid()) + "/cgroup"));
  std::filesystem::remove(proc.folder().path("self/cgroup"));
  const Pair pair;
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_FALSE(peer->in_container);
}

TEST(Identify, AProcessIsWhereItsLivingThreadsAre) {
  const std::string container = "8:pids:/docker/" + kId + "\n";
  const FakeProc proc("8:pids:/\n", "8:pids:/\n");  // as version 1 has it of what has ended
  const Pair pair;
  const std::string pid = std::to_string(::getpid());
  const auto thread = [&](const char* name, const char* stat, const std::string& cgroups) {
    proc.folder().write(pid + "/task/" + name + "/stat", stat);
    proc.folder().write(pid + "/task/" + name + "/cgroup", cgroups);
  };
  proc.folder().write(pid + "/stat", kEndedStat);
  EXPECT_FALSE(identify(pair.a.get(), 0, proc.root())) << "it has no threads at all";
  thread("1", kEndedStat, "8:pids:/\n");
  EXPECT_FALSE(identify(pair.a.get(), 0, proc.root())) << "nor one that lives";
  thread("2", kStat, container);
  std::filesystem::create_directories(proc.folder().path(pid + "/task/3"));  // gone meanwhile
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->tenant_key, "container:/docker/" + kId);
}

TEST(Identify, FilesThatCannotBeBelievedAreErrors) {
  const FakeProc proc("0::/\n", "0::/\n");
  const Pair pair;
  const std::string stat = std::to_string(::getpid()) + "/stat";
  proc.folder().write(stat, "nonsense");
  EXPECT_FALSE(identify(pair.a.get(), 0, proc.root()));
  proc.folder().write(stat, kStat);
  EXPECT_TRUE(identify(pair.a.get(), 0, proc.root()));
  proc.folder().write(std::to_string(::getpid()) + "/cgroup", std::string(300'000, 'x'));
  const Result<Peer> peer = identify(pair.a.get(), 0, proc.root());
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().code, Errc::kLimit);
}

TEST(Identify, TheRealProcAgreesWithTheKernel) {
  const ChildPeer child([] { ::pause(); });
  const Result<Peer> peer = identify(child.fd(), 0);
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->pid, child.pid());
  EXPECT_TRUE(peer->tenant_key.starts_with("process:" + std::to_string(child.pid()) + ":"))
      << peer->tenant_key;
  ASSERT_TRUE(peer->pidfd);
  pollfd ended{.fd = peer->pidfd.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ended, 1, 0), 0);
  EXPECT_EQ(::kill(child.pid(), SIGKILL), 0);
  EXPECT_EQ(::poll(&ended, 1, -1), 1);
}

TEST(Identify, AProcessThatHasEndedIsNobody) {
  ChildPeer child([] {});
  child.wait_for_end();
  EXPECT_FALSE(identify(child.fd(), 5)) << "a zombie";
  child.reap();
  EXPECT_FALSE(identify(child.fd(), 5)) << "gone";
}

TEST(Identify, WhatIsNoUnixSocketIsAnError) {
  int pipes[2] = {-1, -1};
  ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
  const UniqueFd a{pipes[0]};
  const UniqueFd b{pipes[1]};
  const Result<Peer> peer = identify(a.get(), 0);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().sys, ENOTSOCK);
}

TEST(MayAdminister, RootAndTheDaemonsUserButNotFromContainers) {
  const Result<Peer> self = identify_self();
  ASSERT_TRUE(self) << self.error().message();
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_EQ(self->uid, ::geteuid());
  Peer daemon;
  daemon.uid = 1000;
  Peer peer;
  const auto may = [&](uid_t uid, bool in_container) {
    peer.uid = uid;
    peer.in_container = in_container;
    return may_administer(peer, daemon);
  };
  EXPECT_TRUE(may(0, false));
  EXPECT_TRUE(may(1000, false));
  EXPECT_FALSE(may(1001, false));
  EXPECT_FALSE(may(0, true));
  EXPECT_FALSE(may(1000, true));
}

}  // namespace
}  // namespace nvs::daemon
