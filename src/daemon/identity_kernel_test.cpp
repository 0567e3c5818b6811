// SPDX-License-Identifier: Apache-2.0
// Peers on older kernels: a filter in a child makes this one refuse what they do not know.
#include <functional>
#include <string>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/identity.h"

namespace nvs::daemon {
namespace {

constexpr unsigned kPeerPidfd = 77;
constexpr int kNoFilter = 77;  // what the child ends with where filters are not allowed

// Before 6.5 SO_PEERPIDFD is not known; `pidfd_error` is what pidfd_open fails with, or 0.
bool pretend_old_kernel(unsigned pidfd_error) {
  const auto load = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(offset)};
  };
  // Goes on with the next step if the value is equal, else skips `steps`.
  const auto equals = [](unsigned value, unsigned char steps) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, steps, value};
  };
  const auto end = [](unsigned action) { return sock_filter{BPF_RET | BPF_K, 0, 0, action}; };
  std::vector<sock_filter> steps = {
      load(offsetof(seccomp_data, nr)),      equals(SYS_getsockopt, 3),
      load(offsetof(seccomp_data, args[2])), equals(kPeerPidfd, 1),
      end(SECCOMP_RET_ERRNO | ENOPROTOOPT),  load(offsetof(seccomp_data, nr)),
  };
  if (pidfd_error != 0) {
    steps.push_back(equals(SYS_pidfd_open, 1));
    steps.push_back(end(SECCOMP_RET_ERRNO | pidfd_error));
  }
  steps.push_back(end(SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// What `check` says of this process as its own peer, on such a kernel.
int on_old_kernel(unsigned pidfd_error, const std::function<bool(const Result<Peer>&)>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) ::_exit(2);
    if (!pretend_old_kernel(pidfd_error)) ::_exit(kNoFilter);
    const Result<Peer> peer = identify(fds[0], 0);
    ::_exit(check(peer) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_self(const Result<Peer>& peer) {
  return peer && peer->pid == ::getpid() &&
         peer->tenant_key.starts_with("process:" + std::to_string(::getpid()) + ":");
}

class OldKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (on_old_kernel(0, [](const auto&) { return true; }) == kNoFilter)
      GTEST_SKIP() << "filters of system calls are not allowed here";
  }
};

TEST_F(OldKernel, ThePidfdIsOpenedByNumber) {
  EXPECT_EQ(on_old_kernel(0, [](const auto& peer) { return is_self(peer) && peer->pidfd; }), 0);
}

TEST_F(OldKernel, WithoutPidfdsStartTimesMustDo) {
  for (const unsigned error : {ENOSYS, EPERM})
    EXPECT_EQ(on_old_kernel(error, [](const auto& peer) { return is_self(peer) && !peer->pidfd; }),
              0)
        << error;
}

TEST_F(OldKernel, AProcessThatIsGoneIsNobody) {
  for (const unsigned error : {ESRCH, EMFILE})
    EXPECT_EQ(on_old_kernel(error, [&](const auto& peer) { return !peer; }), 0) << error;
}

}  // namespace
}  // namespace nvs::daemon
