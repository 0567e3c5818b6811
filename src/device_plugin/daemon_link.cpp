// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/daemon_link.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "base/result.h"
#include "device_plugin/inventory.h"
#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::plugin {
namespace {

using nlohmann::json;

constexpr std::string_view kStatusRequest = "{\"command\":\"status\"}\n";
constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;
// The daemon takes 64 KiB a request; names have at most a few hundred bytes.
constexpr std::size_t kRequestBytes = std::size_t{48} << 10U;

// A connection to the daemon, for some questions until a deadline.
class Conversation {
 public:
  Conversation(const std::string& socket, UniqueFd fd, Instant deadline)
      : socket_(socket), fd_(std::move(fd)), deadline_(deadline) {}

  Parsed<std::string> ask(std::string_view request) {
    while (!request.empty()) {
      const os::Moved moved = os::send(fd_.get(), request.data(), request.size());
      if (moved.outcome == os::Transfer::closed) return failed("the daemon does not listen");
      request.remove_prefix(moved.bytes);
      if (!request.empty() && !wait(POLLOUT)) return failed("the daemon does not listen");
    }
    return answer();
  }

 private:
  Parsed<std::string> answer() {
    std::size_t end = 0;
    std::array<char, 65536> buffer;  // NOLINT(*-member-init): it is received into
    while ((end = received_.find('\n')) == std::string::npos) {
      if (!wait(POLLIN)) return failed("the daemon does not answer");
      const os::Moved moved = os::receive_bytes(fd_.get(), buffer.data(), buffer.size());
      if (moved.outcome == os::Transfer::closed || received_.size() > kAnswerBytesMax) {
        return failed("the daemon does not answer us");
      }
      received_.append(buffer.data(), moved.bytes);
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  // False if that takes too long.
  bool wait(short events) const {
    const std::int64_t left_ms = (deadline_ - os::monotonic_now()).ns() / 1'000'000;
    if (left_ms <= 0) return false;
    pollfd ready{.fd = fd_.get(), .events = events, .revents = 0};
    return ::poll(&ready, 1, static_cast<int>(left_ms)) >= 0;
  }

  tl::unexpected<std::string> failed(const char* why) const {
    return tl::unexpected(socket_ + ": " + why);
  }

  const std::string& socket_;
  UniqueFd fd_;
  Instant deadline_;
  std::string received_;
};

}  // namespace

Parsed<DaemonStatus> parse_status(const std::string& text) {
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains("result") || !answer["result"].is_object()) {
    return tl::unexpected(std::string("the daemon's answer is not understood"));
  }
  const json& result = answer["result"];
  DaemonStatus status;
  const json pid = result.value("pid", json());
  if (pid.is_number_unsigned()) status.pid = pid.get<std::uint64_t>();
  const json uptime = result.value("uptime_s", json());
  if (uptime.is_number()) status.uptime_s = uptime.get<double>();
  std::vector<std::string> uuids;
  for (const json& gpu : result.value("gpus", json::array())) {
    if (!gpu.is_object()) continue;
    const json uuid = gpu.value("uuid", json());
    const json waiting = gpu.value("waiting", json());
    uuids.push_back(uuid.is_string() ? uuid.get<std::string>() : "");
    status.loads[uuids.back()] += waiting.is_number() ? waiting.get<double>() : 0;
  }
  for (const json& tenant : result.value("tenants", json::array())) {
    if (!tenant.is_object()) continue;
    for (const json& use : tenant.value("gpus", json::array())) {
      if (!use.is_object() || !use.contains("gpu") || !use["gpu"].is_number_unsigned()) continue;
      const auto index = use["gpu"].get<std::size_t>();
      const json share = use.value("share_10s", json());
      if (index >= uuids.size() || !share.is_number()) continue;
      status.loads[uuids[index]] += share.get<double>();
    }
  }
  return status;
}

std::vector<std::string> slot_requests(const SlotList& slots, std::uint64_t unit_bytes) {
  // Nobody is news only if nobody has any.
  if (slots.holders.empty() && !slots.is_whole) return {};
  std::vector<std::string> used(1);
  for (const SlotHolder& holder : slots.holders) {
    json object = {{"slot", holder.slot},
                   {"namespace", holder.space},
                   {"pod", holder.pod},
                   {"container", holder.container}};
    if (holder.memory_units != 0) object["memory_bytes"] = holder.memory_units * unit_bytes;
    // More than one GPU whole is each of them whole.
    if (holder.core_units != 0)
      object["cores"] = std::min<std::uint64_t>(holder.core_units, kCoresPerGpu);
    const std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
    if (used.back().size() + text.size() > kRequestBytes) used.emplace_back();
    used.back() += (used.back().empty() ? "" : ",") + text;
  }
  std::vector<std::string> requests;
  for (const std::string& list : used) {
    const bool is_first = slots.is_whole && requests.empty();
    const bool is_last = slots.is_whole && requests.size() + 1 == used.size();
    requests.push_back(std::string(R"({"command":"slots",)") +
                       (is_first ? R"("begins":true,)" : "") + (is_last ? R"("ends":true,)" : "") +
                       R"("used":[)" + list + "]}\n");
  }
  return requests;
}

Parsed<GpuLoads> DaemonLink::talk(const SlotList& slots, std::uint64_t unit_bytes) {
  auto connected = os::connect_unix(socket_, os::SocketKind::stream);
  if (!connected) return tl::unexpected(socket_ + ": " + connected.error().message());
  Conversation daemon(socket_, *std::move(connected), os::monotonic_now() + patience_);
  const std::string text = NVS_TRY(daemon.ask(kStatusRequest));
  DaemonStatus status = NVS_TRY(parse_status(text));
  const bool is_same = status.pid == told_pid_ && status.uptime_s >= told_uptime_s_;
  told_uptime_s_ = status.uptime_s;
  // That there may be others too is no news to whoever has heard that there were none.
  const bool is_known = slots.holders == told_.holders && (told_.is_whole || !slots.is_whole);
  if (is_same && is_known && unit_bytes == told_unit_bytes_) return std::move(status.loads);
  told_pid_ = 0;
  for (const std::string& request : slot_requests(slots, unit_bytes)) {
    const json answer = json::parse(NVS_TRY(daemon.ask(request)), nullptr, false);
    const bool is_taken = answer.is_object() && answer.value("ok", json()) == true;
    if (!is_taken) return tl::unexpected(socket_ + ": the daemon does not take our list of slots");
  }
  told_pid_ = status.pid;
  told_ = slots;
  told_unit_bytes_ = unit_bytes;
  return std::move(status.loads);
}

}  // namespace nvs::plugin
