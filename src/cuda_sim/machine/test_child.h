// SPDX-License-Identifier: Apache-2.0
// A child process for tests of what outlives a process. It runs a function and then sleeps until it
// is killed.
#pragma once

#include <csignal>
#include <functional>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nvs::sim {

class TestChild {
 public:
  /// Returns once `body` has run.
  explicit TestChild(const std::function<void()>& body) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char ready = 0;
    ran_ = ::read(ends[0], &ready, 1) == 1;
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~TestChild() {
    if (pid_ <= 0) return;
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  TestChild(const TestChild&) = delete;
  TestChild& operator=(const TestChild&) = delete;

  bool ran() const { return ran_; }
  pid_t pid() const { return pid_; }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  void resume() const { ::kill(pid_, SIGCONT); }
  /// Dead, but not reaped: a zombie.
  void kill() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }

 private:
  pid_t pid_ = -1;
  bool ran_ = false;
};

}  // namespace nvs::sim
