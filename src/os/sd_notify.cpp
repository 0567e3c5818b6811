// SPDX-License-Identifier: Apache-2.0
#include "os/sd_notify.h"

#include <charconv>
#include <cstdint>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

namespace nvs::os {
namespace {

template <class Number>
std::optional<Number> number_of(const char* text) {
  if (text == nullptr) return std::nullopt;
  Number value{};
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

}  // namespace

ServiceManager::ServiceManager(const char* address) {
  if (address == nullptr || (address[0] != '/' && address[0] != '@')) return;
  address_ = address;
  if (address_.size() > sizeof(sockaddr_un::sun_path) - 1) return;
  if (address_[0] == '@') address_[0] = '\0';
  fd_ = UniqueFd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

bool ServiceManager::tell(std::string_view state) const {
  if (!fd_) return true;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  return ::sendto(fd_.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to), size) >= 0;
}

std::optional<Duration> watchdog_period(const char* usec, const char* pid, pid_t self) {
  constexpr std::int64_t kUsecMax = 86'400'000'000;  // a day: what is longer watches nothing
  const std::optional<std::int64_t> period_us = number_of<std::int64_t>(usec);
  if (!period_us || *period_us <= 0 || *period_us > kUsecMax) return std::nullopt;
  if (pid != nullptr && number_of<pid_t>(pid) != self) return std::nullopt;
  return Duration::from_us(*period_us);
}

}  // namespace nvs::os
