// SPDX-License-Identifier: Apache-2.0
#include "bench/tenants.h"

#include <fmt/format.h>

namespace nvs::bench {
namespace {

constexpr double kTenantReadySeconds = 60;
constexpr double kTenantAnswerSeconds = 30;
// From the command to the common start: time for each process of a busy machine to wake up.
constexpr double kLeadSeconds = 0.05;

// Nobody else is told to work: the context and the data of those stay where they are.
std::vector<Task> first_saturate(std::size_t load, std::size_t active) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < active; ++i) tasks.push_back(saturating(i, load));
  return tasks;
}

Latency latency_of(const nlohmann::json& answer) {
  return {answer.at("p50_s").get<double>(), answer.at("p99_s").get<double>()};
}

}  // namespace

Task saturating(std::size_t tenant, std::size_t load) {
  return {tenant, {{"action", "saturate"}, {"load", load}}};
}

Task noting(std::size_t tenant, std::size_t load) {
  return {tenant, {{"action", "note"}, {"load", load}}};
}

Task copying_beside(std::size_t tenant, std::size_t load) {
  return {tenant, {{"action", "copy_beside"}, {"load", load}}};
}

Task requesting(std::size_t tenant) { return {tenant, {{"action", "latency"}}}; }

Task recording(std::size_t tenant) { return {tenant, {{"action", "record"}}}; }

Task arriving(std::size_t tenant, double rate, std::uint64_t seed) {
  return {tenant, {{"action", "arrivals"}, {"rate", rate}, {"seed", seed}}};
}

Task bursting(std::size_t tenant, std::size_t load, int bursts, int kernels, double sleep_s,
              std::uint64_t seed) {
  return {tenant,
          {{"action", "bursts"},
           {"load", load},
           {"bursts", bursts},
           {"kernels", kernels},
           {"sleep_s", sleep_s},
           {"seed", seed}}};
}

Tenants::Tenants(const Machine& machine, const std::vector<Child::Environment>& each,
                 const std::vector<Load>& loads)
    : machine_(machine) {
  nlohmann::json config = {{"loads", nlohmann::json::array()}};
  for (const Load& load : loads) config["loads"].push_back(load.to_json());
  for (const Child::Environment& extra : each) {
    children_.push_back(std::make_unique<Child>(fmt::format("tenant {}", children_.size() + 1),
                                                kTenantRole, config, extra));
  }
  for (const auto& child : children_) child->receive(kTenantReadySeconds);
}

std::vector<nlohmann::json> Tenants::together(const std::vector<Task>& tasks, double window_s) {
  // All who take part get the same instants of the machine's clock.
  const std::int64_t start_ns = now_ns() + nanoseconds(kLeadSeconds);
  const std::int64_t from_ns = start_ns + nanoseconds(machine_.wall_seconds(run_in_s_));
  for (const Task& task : tasks) {
    nlohmann::json command = task.command;
    command["start_ns"] = start_ns;
    command["from_ns"] = from_ns;
    command["to_ns"] = from_ns + nanoseconds(window_s);
    children_.at(task.tenant)->send(command);
  }
  std::vector<nlohmann::json> answers;
  const double patience_s = machine_.wall_seconds(run_in_s_) + window_s + kTenantAnswerSeconds;
  for (const Task& task : tasks) {
    answers.push_back(children_[task.tenant]->receive(patience_s));
  }
  return answers;
}

nlohmann::json Tenants::recorded(std::size_t tenant, const std::vector<Span>& spans) {
  nlohmann::json list = nlohmann::json::array();
  for (const Span& span : spans) list.push_back({span.from_ns, span.to_ns});
  children_.at(tenant)->send({{"action", "recorded"}, {"spans", list}});
  return children_[tenant]->receive(kTenantAnswerSeconds);
}

double Tenants::saturate(std::size_t load, std::size_t active, double window_s) {
  double rate = 0;
  for (const nlohmann::json& answer : together(first_saturate(load, active), window_s)) {
    rate += answer.at("rate").get<double>();
  }
  return rate;
}

Latency Tenants::latency_alone(double window_s) {
  return latency_of(together({requesting(0)}, window_s)[0]);
}

Latency Tenants::latency_beside(std::size_t load, double window_s) {
  return latency_of(together({requesting(0), saturating(1, load)}, window_s)[0]);
}

}  // namespace nvs::bench
