// SPDX-License-Identifier: Apache-2.0
#include "os/event_loop.h"

#include <cerrno>
#include <utility>

#include "os/clock.h"

namespace nvs::os {
namespace {

// The generation tells an event for a descriptor from one for an earlier owner of its number.
epoll_event event_of(std::uint32_t events, int fd, std::uint32_t generation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
  return event;
}

constexpr std::uint32_t kTimerGeneration = 0;

}  // namespace

EventLoop::EventLoop(UniqueFd epoll, Timer timer)
    : epoll_(std::move(epoll)), timer_(std::move(timer)), now_(monotonic_now()) {}

Result<EventLoop> EventLoop::create() {
  UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  if (!epoll) return tl::unexpected(Error::from_errno(errno, "epoll_create1"));
  Timer timer = NVS_TRY(Timer::create());
  epoll_event event = event_of(EPOLLIN, timer.fd(), kTimerGeneration);
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.fd(), &event) != 0) {
    return tl::unexpected(Error::from_errno(errno, "epoll_ctl"));
  }
  return EventLoop{std::move(epoll), std::move(timer)};
}

Result<void> EventLoop::add(int fd, std::uint32_t events, Callback callback) {
  epoll_event event = event_of(events, fd, next_generation_);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return tl::unexpected(Error::from_errno(errno, "epoll_ctl"));
  }
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watches_.size()) watches_.resize(index + 1);
  auto watch = std::make_unique<Watch>(Watch{next_generation_, std::move(callback)});
  std::swap(watches_[index], watch);
  if (watch) removed_.push_back(std::move(watch));  // closed without being removed
  if (++next_generation_ == kTimerGeneration) ++next_generation_;
  return {};
}

Result<void> EventLoop::change(int fd, std::uint32_t events) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= watches_.size() || !watches_[index]) {
    return tl::unexpected(Error::from_errno(ENOENT, "epoll_ctl"));
  }
  epoll_event event = event_of(events, fd, watches_[index]->generation);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    return tl::unexpected(Error::from_errno(errno, "epoll_ctl"));
  }
  return {};
}

void EventLoop::remove(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= watches_.size() || !watches_[index]) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  removed_.push_back(std::move(watches_[index]));
}

void EventLoop::dispatch(const epoll_event& event) {
  const auto index = static_cast<std::uint32_t>(event.data.u64);
  const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
  if (generation == kTimerGeneration) return timer_.acknowledge();
  if (index >= watches_.size() || !watches_[index]) return;
  Watch& watch = *watches_[index];
  if (watch.generation == generation) watch.callback(event.events);
}

void EventLoop::stay_awake(std::uint32_t key, Instant from, Instant until) {
  may_sleep(key);
  vigils_.push_back({key, from, until});
}

void EventLoop::may_sleep(std::uint32_t key) {
  std::erase_if(vigils_, [key](const Vigil& vigil) { return vigil.key == key; });
}

bool EventLoop::is_awake(std::optional<Instant>& deadline) {
  if (vigils_.empty()) return false;
  const Instant now = monotonic_now();
  std::erase_if(vigils_, [now](const Vigil& vigil) { return vigil.until <= now; });
  bool awake = false;
  for (const Vigil& vigil : vigils_) {
    awake = awake || vigil.from <= now;
    if (!deadline || vigil.from < *deadline) deadline = vigil.from;
  }
  return awake;
}

Result<void> EventLoop::run_round(std::optional<Instant> deadline) {
  const bool awake = is_awake(deadline);
  if (!awake) NVS_TRY(timer_.arm(deadline));
  epoll_event ready[kReadyMax];
  const int count = ::epoll_wait(epoll_.get(), ready, kReadyMax, awake ? 0 : -1);
  if (count < 0 && errno != EINTR) return tl::unexpected(Error::from_errno(errno, "epoll_wait"));
  now_ = monotonic_now();
  for (int i = 0; i < count; ++i) dispatch(ready[i]);
  removed_.clear();
  return {};
}

}  // namespace nvs::os
