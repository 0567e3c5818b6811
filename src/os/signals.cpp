// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <cerrno>

#include <sys/signalfd.h>
#include <unistd.h>

namespace nvs::os {

Result<SignalFd> SignalFd::create(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) ::sigaddset(&set, number);
  const int failure = ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (failure != 0) return tl::unexpected(Error::from_errno(failure, "pthread_sigmask"));
  UniqueFd fd{::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "signalfd"));
  return SignalFd{std::move(fd)};
}

std::optional<int> SignalFd::take() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

NoSignals::NoSignals() {
  sigset_t all{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

NoSignals::~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Result<void> ignore_signal(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  if (::sigaction(number, &action, nullptr) != 0) {
    return tl::unexpected(Error::from_errno(errno, "sigaction"));
  }
  return {};
}

}  // namespace nvs::os
