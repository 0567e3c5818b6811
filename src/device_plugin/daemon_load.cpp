// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/daemon_load.h"

#include <array>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::plugin {
namespace {

using nlohmann::json;

constexpr std::string_view kQuestion = "{\"command\":\"status\"}\n";
constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;

// Waits until there is something to read; false if that takes too long.
bool wait_readable(int fd, Instant deadline) {
  const std::int64_t left_ms = (deadline - os::monotonic_now()).ns() / 1'000'000;
  if (left_ms <= 0) return false;
  pollfd in{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&in, 1, static_cast<int>(left_ms)) >= 0;
}

}  // namespace

Parsed<std::map<std::string, double>> parse_loads(const std::string& text) {
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("result") || !answer["result"].is_object()) {
    return tl::unexpected(std::string("the daemon's answer is not understood"));
  }
  const json& result = answer["result"];
  std::vector<std::string> uuids;
  std::map<std::string, double> loads;
  for (const json& gpu : result.value("gpus", json::array())) {
    if (!gpu.is_object()) continue;
    uuids.push_back(gpu.value("uuid", ""));
    loads[uuids.back()] += gpu.value("waiting", 0.0);
  }
  for (const json& tenant : result.value("tenants", json::array())) {
    if (!tenant.is_object()) continue;
    for (const json& use : tenant.value("gpus", json::array())) {
      if (!use.is_object() || !use.contains("gpu") || !use["gpu"].is_number_unsigned()) continue;
      const auto index = use["gpu"].get<std::size_t>();
      const json share = use.value("share_10s", json());
      if (index < uuids.size() && share.is_number()) loads[uuids[index]] += share.get<double>();
    }
  }
  return loads;
}

Parsed<std::map<std::string, double>> ask_loads(const std::string& admin_socket,
                                                Duration patience) {
  const auto connection = os::connect_unix(admin_socket, os::SocketKind::stream);
  if (!connection) return tl::unexpected(admin_socket + ": " + connection.error().message());
  const Instant deadline = os::monotonic_now() + patience;
  if (os::send(connection->get(), kQuestion.data(), kQuestion.size()).bytes != kQuestion.size()) {
    return tl::unexpected(admin_socket + ": the daemon does not listen");
  }
  std::string answer;
  std::array<char, 65536> buffer;  // NOLINT(*-member-init): it is received into
  while (answer.find('\n') == std::string::npos) {
    if (!wait_readable(connection->get(), deadline)) {
      return tl::unexpected(admin_socket + ": the daemon does not answer");
    }
    const os::Moved moved = os::receive_bytes(connection->get(), buffer.data(), buffer.size());
    if (moved.outcome == os::Transfer::closed || answer.size() > kAnswerBytesMax) {
      return tl::unexpected(admin_socket + ": the daemon does not answer us");
    }
    answer.append(buffer.data(), moved.bytes);
  }
  return parse_loads(answer);
}

}  // namespace nvs::plugin
