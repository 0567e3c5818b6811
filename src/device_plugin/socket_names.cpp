// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/socket_names.h"

#include <array>
#include <cstdio>

namespace nvs::plugin {
namespace {

constexpr std::string_view kPrefix = "nvshare-";
constexpr std::string_view kSuffix = ".sock";
constexpr std::size_t kResourceMax = 20;

}  // namespace

std::string SocketNames::next(std::string_view resource) {
  resource = resource.substr(resource.rfind('/') + 1).substr(0, kResourceMax);
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "-%d-%08x-%u", pid_, run_, ++counter_);
  return std::string(kPrefix).append(resource).append(numbers.data()).append(kSuffix);
}

bool is_our_socket(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

}  // namespace nvs::plugin
