// SPDX-License-Identifier: Apache-2.0
#include "os/timer.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <sys/timerfd.h>
#include <unistd.h>

namespace nvs::os {

Result<Timer> Timer::create() {
  UniqueFd fd{::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "timerfd_create"));
  return Timer{std::move(fd)};
}

Result<void> Timer::arm(std::optional<Instant> deadline) {
  if (deadline == armed_) return {};
  itimerspec setting{};  // all zero: never
  if (deadline) {
    const std::int64_t ns = std::max<std::int64_t>(deadline->ns(), 1);
    setting.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
  }
  if (::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &setting, nullptr) != 0) {
    return tl::unexpected(Error::from_errno(errno, "timerfd_settime"));
  }
  armed_ = deadline;
  return {};
}

void Timer::acknowledge() {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &times, sizeof times);
  armed_.reset();
}

}  // namespace nvs::os
