// SPDX-License-Identifier: Apache-2.0
#include "bench/workload_run.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "bench/built_files.h"
#include "bench/failure.h"
#include "workloads/result_table.h"

namespace nvs::bench {
namespace {

using workloads::Phase;

workloads::TenantSpec spec_of(const WorkloadTenant& tenant) {
  workloads::TenantSpec spec{tenant.label, tenant.gpu, tenant.arguments, {}};
  for (const auto& [name, value] : tenant.environment) {
    spec.environment.push_back(fmt::format("{}={}", name, value));
  }
  return spec;
}

bool all_in(std::span<const workloads::Tenant> tenants, std::initializer_list<Phase> phases) {
  return std::all_of(tenants.begin(), tenants.end(), [&](const workloads::Tenant& tenant) {
    return std::find(phases.begin(), phases.end(), tenant.phase) != phases.end();
  });
}

// Writes down what the runner shows of its tenants while they run.
class Follower {
 public:
  Follower(const Machine& machine, std::size_t tenants) : machine_(machine) {
    run_.tenants.resize(tenants);
  }

  void look(std::span<const workloads::Tenant> tenants) {
    const bool running = all_in(tenants, {Phase::kRunning});
    if (running && run_.from_ns == 0) run_.from_ns = now_ns();
    if (!running && run_.from_ns != 0 && run_.to_ns == 0) run_.to_ns = now_ns();
    all_done_ = all_in(tenants, {Phase::kVerifying, Phase::kEnded});
    for (std::size_t i = 0; i < tenants.size(); ++i) add_point(run_.tenants[i], tenants[i]);
  }
  bool all_done() const { return all_done_; }

  // Of their results in nominal seconds.
  WorkloadRun take(std::vector<workloads::Tenant> tenants) {
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const workloads::ResultStatus& result = tenants[i].result;
      run_.tenants[i].pid = tenants[i].pid;
      run_.tenants[i].iterations = static_cast<double>(result.iterations);
      run_.tenants[i].seconds = result.seconds;
      run_.tenants[i].verify_seconds = result.verify_seconds;
    }
    if (run_.to_ns == 0) run_.to_ns = now_ns();
    run_.ended = std::move(tenants);
    return std::move(run_);
  }

 private:
  void add_point(WorkloadResult& result, const workloads::Tenant& tenant) const {
    const auto done = static_cast<double>(tenant.progress.done);
    if (done <= (result.points.empty() ? 0 : result.points.back().done)) return;
    result.points.push_back({machine_.nominal_seconds(tenant.progress.seconds), done});
  }

  const Machine& machine_;
  WorkloadRun run_;
  bool all_done_ = false;
};

void to_nominal(const Machine& machine, workloads::ResultStatus& result) {
  result.seconds = machine.nominal_seconds(result.seconds);
  result.verify_seconds = machine.nominal_seconds(result.verify_seconds);
  result.rate *= machine.wall_seconds(1);
}

// Of tenants that are cut, it is enough that they came to be.
void expect_all_well(std::span<const workloads::Tenant> tenants, Ending ending) {
  for (const workloads::Tenant& tenant : tenants) {
    const bool cut = ending == Ending::kCut && tenant.result.message == workloads::kCancelled;
    if (tenant.result.pass || cut) continue;
    throw Failure(fmt::format("the workload {} failed: {}\n{}\n{}", tenant.spec.label,
                              tenant.result.message, tenant.output,
                              workloads::render_results(tenants)));
  }
}

}  // namespace

double WorkloadResult::longest_gap() const {
  double longest = 0;
  double before = 0;
  for (const WorkloadPoint& point : points) {
    longest = std::max(longest, point.at_s - before);
    before = point.at_s;
  }
  return longest;
}

double WorkloadResult::rate_from(double from_s) const {
  const auto first = std::find_if(points.begin(), points.end(),
                                  [&](const WorkloadPoint& point) { return point.at_s >= from_s; });
  if (first == points.end() || points.back().at_s <= first->at_s) return 0;
  return (points.back().done - first->done) / (points.back().at_s - first->at_s);
}

double WorkloadRun::makespan() const {
  double last = 0;
  for (const WorkloadResult& tenant : tenants) last = std::max(last, tenant.seconds);
  return last;
}

double WorkloadRun::longest_gap() const {
  double longest = 0;
  for (const WorkloadResult& tenant : tenants) longest = std::max(longest, tenant.longest_gap());
  return longest;
}

WorkloadRun run_workloads(const Machine& machine, const std::vector<WorkloadTenant>& tenants,
                          double timeout_s, Ending ending) {
  std::vector<workloads::TenantSpec> specs;
  for (const WorkloadTenant& tenant : tenants) specs.push_back(spec_of(tenant));
  Follower follower(machine, tenants.size());
  workloads::RunnerOptions options;
  options.workload_program = existing(built("bin/nvshare-workload"), "the workloads");
  options.timeout_seconds = timeout_s;
  options.on_update = [&](std::span<const workloads::Tenant> now) { follower.look(now); };
  options.is_cancelled = [&] { return ending == Ending::kCut && follower.all_done(); };
  Result<std::vector<workloads::Tenant>> ended = workloads::run_tenants(specs, options);
  if (!ended) throw Failure("a workload could not be started: " + ended.error().message());
  for (workloads::Tenant& tenant : *ended) to_nominal(machine, tenant.result);
  expect_all_well(*ended, ending);
  return follower.take(*std::move(ended));
}

}  // namespace nvs::bench
