// SPDX-License-Identifier: Apache-2.0
// A group of tenants: child processes that all hold a context and data on one GPU and work when
// they are told to, from a common start. They stay alive between rounds, so that rounds with one,
// two and four of them active can alternate and nothing but the sharing differs.
#pragma once

#include <cstddef>
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

class Tenants {
 public:
  // Starts `count` tenants that have the data of all `loads`, and waits until each is ready.
  Tenants(const Machine& machine, std::size_t count, const std::vector<Load>& loads,
          const Child::Environment& extra = {});

  // The first `active` tenants saturate the GPU together with `loads[load]`: kernels a second, the
  // sum of all.
  double saturate(std::size_t load, std::size_t active, double window_s);
  // The first tenant launches a tiny kernel and waits for it, over and over: alone, or while the
  // second one saturates the GPU with `loads[load]`.
  Latency latency_alone(double window_s);
  Latency latency_beside(std::size_t load, double window_s);

 private:
  Latency receive_latency(double window_s);

  const Machine& machine_;
  std::vector<std::unique_ptr<Child>> children_;
};

// What each of the children runs.
inline constexpr const char* kTenantRole = "tenant";
void run_tenant(ParentLink& parent, const nlohmann::json& config);

}  // namespace nvs::bench
