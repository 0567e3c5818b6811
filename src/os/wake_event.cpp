// SPDX-License-Identifier: Apache-2.0
#include "os/wake_event.h"

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace nvs::os {

Result<WakeEvent> WakeEvent::create() {
  UniqueFd fd{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "eventfd"));
  return WakeEvent{std::move(fd)};
}

void WakeEvent::set() const {
  const std::uint64_t one = 1;
  // It can fail only if it has been set 2^64 times, and then it is readable already.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

void WakeEvent::clear() const {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &times, sizeof times);
}

}  // namespace nvs::os
