// SPDX-License-Identifier: Apache-2.0
#include "bench/tenants.h"

#include <cstdint>

#include <fmt/format.h>

namespace nvs::bench {
namespace {

constexpr double kReadySeconds = 60;
constexpr double kAnswerSeconds = 30;
// From the command to the common start: time for each process of a busy machine to wake up.
constexpr double kLeadSeconds = 0.05;
// From the common start to the window: by then the queues are full and the slices rotate.
constexpr double kRunInSeconds = 0.15;

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// All who take part in a round get the same instants of the machine's clock.
struct Round {
  std::int64_t start_ns;
  std::int64_t from_ns;
  std::int64_t to_ns;

  explicit Round(double window_s)
      : start_ns(now_ns() + nanoseconds(kLeadSeconds)),
        from_ns(start_ns + nanoseconds(kRunInSeconds)),
        to_ns(from_ns + nanoseconds(window_s)) {}

  nlohmann::json saturate(std::size_t load) const { return command("saturate", load); }
  nlohmann::json latency() const { return command("latency", 0); }

 private:
  nlohmann::json command(const char* action, std::size_t load) const {
    return {{"action", action},
            {"load", load},
            {"start_ns", start_ns},
            {"from_ns", from_ns},
            {"to_ns", to_ns}};
  }
};

}  // namespace

Tenants::Tenants(const Machine& machine, std::size_t count, const std::vector<Load>& loads,
                 const Child::Environment& extra)
    : machine_(machine) {
  nlohmann::json config = {{"loads", nlohmann::json::array()}};
  for (const Load& load : loads) config["loads"].push_back(load.to_json());
  for (std::size_t i = 0; i < count; ++i) {
    children_.push_back(
        std::make_unique<Child>(fmt::format("tenant {}", i + 1), kTenantRole, config, extra));
  }
  for (const auto& child : children_) child->receive(kReadySeconds);
}

double Tenants::saturate(std::size_t load, std::size_t active, double window_s) {
  const nlohmann::json command = Round(window_s).saturate(load);
  for (std::size_t i = 0; i < active; ++i) children_.at(i)->send(command);
  double rate = 0;
  for (std::size_t i = 0; i < active; ++i) {
    rate += children_[i]->receive(window_s + kAnswerSeconds).at("rate").get<double>();
  }
  return rate;
}

Latency Tenants::receive_latency(double window_s) {
  const nlohmann::json answer = children_.at(0)->receive(window_s + kAnswerSeconds);
  return {machine_.nominal_seconds(answer.at("p50_s").get<double>()),
          machine_.nominal_seconds(answer.at("p99_s").get<double>())};
}

Latency Tenants::latency_alone(double window_s) {
  children_.at(0)->send(Round(window_s).latency());
  return receive_latency(window_s);
}

Latency Tenants::latency_beside(std::size_t load, double window_s) {
  const Round round(window_s);
  children_.at(1)->send(round.saturate(load));
  children_.at(0)->send(round.latency());
  const Latency result = receive_latency(window_s);
  children_.at(1)->receive(window_s + kAnswerSeconds);
  return result;
}

}  // namespace nvs::bench
