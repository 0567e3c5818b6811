// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/sharing_part.h"

#include "bench/failure.h"

namespace nvs::bench {

Sharing::Sharing(const Bench& bench, Progress& progress, const std::vector<std::string>& options)
    : bench_(bench), progress_(progress), gpu_(bench.machine), daemon_(bench, {}, options) {}

void Sharing::add_load(Work work, double kernel_s) {
  loads_.push_back(calibrate(gpu_, work, kernel_s));
}

Tenants Sharing::bare_tenants(std::size_t count) const {
  return {machine(), std::vector<Child::Environment>(count, bare_tenant()), loads_};
}

Tenants Sharing::shared_tenants(const std::vector<std::string>& priorities) const {
  std::vector<Child::Environment> each;
  for (const std::string& priority : priorities) each.push_back(daemon_.tenant(priority));
  Tenants tenants(machine(), each, loads_);
  daemon_.expect_clients(priorities.size());
  return tenants;
}

std::vector<nlohmann::json> Sharing::measure(Tenants& tenants, const std::vector<Task>& tasks,
                                             double window_s) {
  return on_time([&] { return tenants.together(tasks, machine().wall_seconds(window_s)); });
}

double Sharing::rate_alone(Tenants& tenants, std::size_t load, double window_s) {
  const nlohmann::json answer = measure(tenants, {saturating(0, load)}, window_s)[0];
  // Its kernels follow each other without a gap, so the rate between two completions is exact.
  return answer.at("rate").get<double>() * machine().wall_seconds(1);
}

void Sharing::begin_section(const std::string& title) {
  section_ = title;
  overrun_ = 0;
}

void Sharing::add(const std::string& what, const std::vector<double>& values,
                  const std::string& unit, std::optional<Target> target) {
  const std::optional<double> overrun =
      machine().simulated() ? std::optional(overrun_) : std::nullopt;
  bench_.report.add({section_, what, summarize(values), unit, std::nullopt, target, overrun});
}

void expect_python(const Bench& bench) {
  if (bench.python.empty()) throw Failure("name the folder of tq.py: --python FOLDER");
}

std::unique_ptr<PythonPrograms> python_programs(Sharing& sharing) {
  if (sharing.bench().python.empty()) return nullptr;
  auto programs = std::make_unique<PythonPrograms>(sharing.bench().python);
  const std::string missing = programs->missing();
  if (missing.empty()) return programs;
  sharing.note("no rows of PyTorch: " + missing);
  return nullptr;
}

Had had(const Sharing& sharing, pid_t pid) {
  const nlohmann::json now = sharing.daemon().tenant_of(pid);
  Had result;
  for (const nlohmann::json& gpu : now.at("gpus")) {
    result.windows += gpu.at("windows").get<double>();
    result.used_s += sharing.machine().nominal_seconds(gpu.at("used_s").get<double>());
  }
  return result;
}

void append_ms(std::vector<double>& all_ms, const nlohmann::json& all_s) {
  for (const nlohmann::json& one_s : all_s) all_ms.push_back(one_s.get<double>() * 1e3);
}

double rate_in_window(const nlohmann::json& answer, double window_s) {
  return answer.at("count").get<double>() / window_s;
}

}  // namespace nvs::bench
