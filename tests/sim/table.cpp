// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

namespace nvs::sim {
namespace {

constexpr double kGiB = 1 << 30;
constexpr const char* kModes[] = {"auto", "serial", "concurrent"};
constexpr const char* kClasses[] = {"low", "normal", "high"};

__attribute__((format(printf, 1, 2))) std::string line(const char* format, ...) {
  char buffer[200];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(buffer, sizeof buffer, format, values);
  va_end(values);
  return buffer;
}

// Tenants of one label, class and weight share a row.
struct Row {
  std::string label;
  core::Priority priority = core::Priority::normal;
  std::uint32_t weight = 100;
  int tenants = 0;
  Duration executed;
  std::vector<Duration> waits;
};

std::vector<Row> rows_of(const World& world, std::uint32_t gpu) {
  std::vector<Row> rows;
  const std::vector<TenantPlan>& tenants = world.plan().tenants;
  for (std::uint32_t number = 0; number < tenants.size(); ++number) {
    const TenantPlan& tenant = tenants[number];
    const TenantMeter& meter = world.meter().gpus()[gpu].tenants[number];
    const Duration executed = world.executed(number, gpu);
    if (executed == Duration{} && meter.waits.empty()) continue;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
      return one.label == tenant.label && one.priority == tenant.priority &&
             one.weight == tenant.weight;
    });
    if (row == rows.end()) {
      rows.push_back({tenant.label, tenant.priority, tenant.weight, 0, {}, {}});
      row = rows.end() - 1;
    }
    ++row->tenants;
    row->executed += executed;
    row->waits.insert(row->waits.end(), meter.waits.begin(), meter.waits.end());
  }
  return rows;
}

double percent(Duration part, Duration whole) {
  return whole > Duration{} ? 100.0 * part.seconds() / whole.seconds() : 0.0;
}

std::string text_of(Row& row, Duration length) {
  std::sort(row.waits.begin(), row.waits.end());
  double sum = 0;
  for (const Duration wait : row.waits) sum += wait.seconds();
  const std::size_t count = row.waits.size();
  const double mean = count != 0 ? sum / static_cast<double>(count) : 0.0;
  const double p99 = percentile(row.waits, 99).seconds();
  const double longest = percentile(row.waits, 100).seconds();
  return line("  %-11s %-7s %6u %8d %8.2f %8zu %10.3f %10.3f %10.3f\n", row.label.c_str(),
              kClasses[static_cast<std::size_t>(row.priority)], row.weight, row.tenants,
              percent(row.executed, length), count, mean * 1e3, p99 * 1e3, longest * 1e3);
}

}  // namespace

Duration percentile(const std::vector<Duration>& sorted, std::size_t percent) {
  if (sorted.empty()) return {};
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string table_of(const World& world) {
  const Duration length = world.now() - Instant{};
  std::string text;
  for (std::uint32_t gpu = 0; gpu < world.plan().gpus.size(); ++gpu) {
    const core::GpuPolicy& policy = world.plan().gpus[gpu];
    const GpuMeter& meter = world.meter().gpus()[gpu];
    text += line("gpu %u: %s, window %g ms, %.3f s, busy %.2f %%, %llu switches\n", gpu,
                 kModes[static_cast<std::size_t>(policy.mode)], policy.window.seconds() * 1e3,
                 length.seconds(), percent(world.gpu(gpu).busy(), length),
                 static_cast<unsigned long long>(meter.switches));
    text +=
        line("  waste: handover %.2f %%, idle while waited for %.2f %%\n",
             percent(meter.handover, length), percent(world.gpu(gpu).idle_while_awaited(), length));
    if (world.has_memory()) {
      text += line("  memory: %.2f GiB, %.2f GiB swapped, %llu turns\n",
                   static_cast<double>(world.plan().capacity) / kGiB,
                   static_cast<double>(world.card(gpu).moved()) / kGiB,
                   static_cast<unsigned long long>(meter.turns));
    }
    text += line("  %-11s %-7s %6s %8s %8s %8s %10s %10s %10s\n", "tenants", "class", "weight",
                 "number", "share %", "waits", "mean ms", "p99 ms", "longest ms");
    for (Row& row : rows_of(world, gpu)) text += text_of(row, length);
  }
  return text;
}

}  // namespace nvs::sim
