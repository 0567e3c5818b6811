// SPDX-License-Identifier: Apache-2.0
#include "workloads/result_table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "workloads/statistics.h"
#include "workloads/table.h"

namespace nvs::workloads {
namespace {

constexpr unsigned kBarWidth = 20;

const char* verdict(const Tenant& tenant) { return tenant.result.pass ? "PASS" : "FAIL"; }

std::string tenth(double value) { return fmt::format("{:.1f}", value); }

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Each line of the text behind a margin.
std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = first_line(text);
    result += fmt::format("    {}\n", line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return result;
}

std::string state_of(const Tenant& tenant) {
  switch (tenant.phase) {
    case Phase::kStarting:
      return "takes its memory";
    case Phase::kReady:
      return "ready, waits for the others";
    case Phase::kRunning:
      return render_progress(tenant.progress, kBarWidth);
    case Phase::kVerifying:
      return fmt::format("checks its data after {} iterations", tenant.progress.done);
    case Phase::kEnded:
      break;
  }
  if (!tenant.result.pass) return fmt::format("FAIL  {}", first_line(tenant.result.message));
  return fmt::format("PASS  {:.1f} s  {:.1f} it/s", tenant.result.seconds, tenant.result.rate);
}

}  // namespace

std::string render_results(std::span<const Tenant> tenants) {
  Table table({{"tenant"},
               {"GPU", Align::kRight},
               {"result"},
               {"seconds", Align::kRight},
               {"it/s", Align::kRight}});
  std::vector<double> seconds, rates;
  for (const Tenant& tenant : tenants) {
    table.add_row({tenant.spec.label, std::to_string(tenant.spec.gpu), verdict(tenant),
                   tenth(tenant.result.seconds), tenth(tenant.result.rate)});
    if (!tenant.result.pass) continue;
    seconds.push_back(tenant.result.seconds);
    rates.push_back(tenant.result.rate);
  }
  table.add_rule();
  const Summary s = summarize(seconds), r = summarize(rates);
  table.add_row({"min", "", "", tenth(s.min), tenth(r.min)});
  table.add_row({"max", "", "", tenth(s.max), tenth(r.max)});
  table.add_row({"average", "", "", tenth(s.average), tenth(r.average)});
  return table.render();
}

std::string render_failures(std::span<const Tenant> tenants) {
  std::string text;
  for (const Tenant& tenant : tenants) {
    if (tenant.result.pass) continue;
    text += fmt::format("{} on GPU {} failed: {}\n", tenant.spec.label, tenant.spec.gpu,
                        tenant.result.message);
    // A workload that came to its end prints its message too; once is enough.
    const bool told = tenant.output.find(tenant.result.message) != std::string::npos;
    if (!told && !tenant.output.empty()) text += "  it printed:\n" + indented(tenant.output);
  }
  return text;
}

std::string render_tenant(const Tenant& tenant, std::size_t label_width) {
  return fmt::format("{:{}}  GPU {}  {}", tenant.spec.label, label_width, tenant.spec.gpu,
                     state_of(tenant));
}

}  // namespace nvs::workloads
