// SPDX-License-Identifier: Apache-2.0
// A group of tenants: child processes that all hold a context and data on one GPU and work when
// they are told to, from a common start. They stay alive between rounds, so that rounds with one,
// two and four of them active can alternate and nothing but the sharing differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/child.h"
#include "bench/load.h"

namespace nvs::bench {

struct Latency {
  double p50_s = 0;
  double p99_s = 0;
};

// From one instant of now_ns to another.
struct Span {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

// What one tenant does in a round, and what it answers. All times but the window are nominal.
struct Task {
  std::size_t tenant;
  nlohmann::json command;
};
// Keeps the GPU busy with `loads[load]`: {"rate": kernels a second between the first and the last
// that completed in the window, "count": of those}.
Task saturating(std::size_t tenant, std::size_t load);
// The same, and it answers when each of those completed: {"ends_ns": [...]}.
Task noting(std::size_t tenant, std::size_t load);
// The same, and beside it copies of 4 MiB to the GPU on a stream of their own: {"rate", "copies":
// of these a second}.
Task copying_beside(std::size_t tenant, std::size_t load);
// A tiny kernel and a synchronise, over and over: {"p50_s", "p99_s"}.
Task requesting(std::size_t tenant);
// The same, and each time is kept with its instant until it is asked for: {"count"}.
Task recording(std::size_t tenant);
// The same, at random instants (Poisson) that do not wait for the request before, timed from their
// instant: {"samples_s": [...], "arrivals_s": [...] since the window began}.
Task arriving(std::size_t tenant, double rate, std::uint64_t seed);
// Bursts of some kernels of `loads[load]`, each waited for and followed by a sleep of `sleep_s`,
// give or take a half: {"seconds": for all of them}. The sleeps' sum does not depend on the seed.
Task bursting(std::size_t tenant, std::size_t load, int bursts, int kernels, double sleep_s,
              std::uint64_t seed);

class Tenants {
 public:
  // Starts a tenant in each of these environments, with the data of all `loads`, and waits until
  // all are ready.
  Tenants(const Machine& machine, const std::vector<Child::Environment>& each,
          const std::vector<Load>& loads);
  // `count` of them in the environment of this process.
  Tenants(const Machine& machine, std::size_t count, const std::vector<Load>& loads)
      : Tenants(machine, std::vector<Child::Environment>(count), loads) {}

  pid_t pid(std::size_t tenant) const { return children_.at(tenant)->pid(); }
  // How long all are at work before a window begins, in nominal seconds.
  void set_run_in(double seconds) { run_in_s_ = seconds; }

  // All tasks from a common start; what counts is a window of `window_s` on the wall clock that
  // begins when all are at work. The answers come in the order of the tasks.
  std::vector<nlohmann::json> together(const std::vector<Task>& tasks, double window_s);

  // Of the requests that a tenant recorded, those that lie in one of these spans as a whole:
  // {"count", "p50_s", "p99_s", "longest_s"}.
  nlohmann::json recorded(std::size_t tenant, const std::vector<Span>& spans);

  // The first `active` tenants saturate the GPU together with `loads[load]`: kernels a second, the
  // sum of all.
  double saturate(std::size_t load, std::size_t active, double window_s);
  // The first tenant launches a tiny kernel and waits for it, over and over: alone, or while the
  // second one saturates the GPU with `loads[load]`.
  Latency latency_alone(double window_s);
  Latency latency_beside(std::size_t load, double window_s);

 private:
  const Machine& machine_;
  std::vector<std::unique_ptr<Child>> children_;
  // By then the queues are full and the slices rotate.
  double run_in_s_ = 0.15;
};

// What each of the children runs.
inline constexpr const char* kTenantRole = "tenant";
void run_tenant(ParentLink& parent, const nlohmann::json& config);

}  // namespace nvs::bench
