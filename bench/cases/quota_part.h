// SPDX-License-Identifier: Apache-2.0
// What the cases of quotas share: tenants under the daemon whose caps can be set, and how long they
// are measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bench/cases/sharing_part.h"

namespace nvs::bench::quota_case {

// Seconds are nominal.
struct QuotaPlan {
  double settle_s;  // all are at work for so long before anything counts
  double solo_s;
  double window_s;
  std::vector<int> caps;  // of one alone
};
QuotaPlan quota_plan_for(const Bench& bench);
// Of several tenants, which take more windows.
QuotaPlan quota_plan_together(const Bench& bench);

// How far off what a tenant gets may be, in percent of a GPU.
inline constexpr double kPoints = 1;
// Percent, give or take so many points.
Target near(double percent, double points);

// A daemon whose periods of quotas are dilated as the simulator is.
std::vector<std::string> daemon_options(const Bench& bench);

// GPU time that the tenant of this process was billed, in nominal seconds.
double used_s(const Sharing& sharing, pid_t pid);

class CappedTenants {
 public:
  // The environment of each; `extra` is what it has beside that of a tenant.
  CappedTenants(Sharing& sharing, const std::vector<Child::Environment>& each);

  Tenants& all() { return tenants_; }
  // 0: none.
  void cap(std::size_t tenant, int percent) const;
  // Without a cap, alone: kernels a nominal second.
  double solo_rate(std::size_t load, double seconds);
  // What the tasks get done in a window, once they have been at it for a while.
  std::vector<nlohmann::json> measure(const std::vector<Task>& tasks, const QuotaPlan& plan);
  // The same, but not again if the simulator was late: for what is one measurement with something
  // else, and would not fit that any more.
  std::vector<nlohmann::json> measure_once(const std::vector<Task>& tasks, const QuotaPlan& plan);
  // The same, and what the first tenant was billed, in percent of the window: time that it held the
  // GPU, with or without work on it.
  struct Billed {
    std::vector<nlohmann::json> answers;
    double percent;
  };
  Billed measure_billed(const std::vector<Task>& tasks, const QuotaPlan& plan);
  double used_s(std::size_t tenant) const;
  // The caps that are in force on the first GPU that the tenant uses, in percent.
  double cap_in_force(std::size_t tenant) const;

 private:
  nlohmann::json status_of(std::size_t tenant) const;
  Billed measure_billed_once(const std::vector<Task>& tasks, const QuotaPlan& plan);

  Sharing& sharing_;
  Tenants tenants_;
};

// Tenants of normal priority.
std::vector<Child::Environment> normal_tenants(const Sharing& sharing, std::size_t count);

}  // namespace nvs::bench::quota_case
