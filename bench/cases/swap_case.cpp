// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/swap_case.h"

#include <future>

#include <fmt/format.h>

#include "bench/cases/memory_part.h"
#include "bench/memory_watch.h"
#include "bench/stats.h"
#include "bench/tenants.h"

namespace nvs::bench {
namespace swap_case {
namespace {

constexpr double kTurnSeconds = 1;
// Both ways together, on the card that the figure was derived for.
const Target kExchangeRate = {78, std::nullopt};
constexpr const char* kExchangeCard = "H200";
constexpr const char* kRate = "rate, both ways together";
const Target kSome = {1, std::nullopt};
const Target kCopiedAgain = {std::nullopt, 2};     // percent of what left
const Target kLatencyBeside = {std::nullopt, 50};  // us, p99
// What leaves for the first time is copied. Where a part of a tenant's memory can stay, it may be
// another part the second time.
constexpr std::size_t kFirstLeaves = 2;

// While requests are being made, others fill their memory for about so long.
constexpr double kPrepareSeconds = 6;

// No time for reading: in a quick run its memory would leave once or twice.
struct Plan {
  double exchange_s;
  double reading_s;
  double latency_s;
};
Plan plan_for(const Bench& bench) { return bench.quick ? Plan{3, 0, 2.5} : Plan{15, 15, 15}; }

// Two tenants that take turns, and when they did.
struct Exchanges {
  MemoryRun seen;
  std::vector<Span> spans;
};

Exchanges exchange(MemoryPart& part, const std::vector<WorkloadTenant>& tenants, double seconds) {
  const std::int64_t start_ns = now_ns();
  Exchanges result{part.run(tenants, seconds), {}};
  const double since_s = static_cast<double>(now_ns() - start_ns) * 1e-9;
  const WorkloadRun& run = result.seen.run;
  result.spans = exchanges_in(part.daemon().trace(since_s), kWorkloadName, run.from_ns, run.to_ns);
  return result;
}

double seconds_of(const MemoryPart& part, const Span& span) {
  return part.machine().nominal_seconds(static_cast<double>(span.to_ns - span.from_ns) * 1e-9);
}

void measure_exchanges(MemoryPart& part, double seconds) {
  part.step("exchanges");
  part.begin_section("Exchange of 12 GiB for 12 GiB on 16 GiB, turns of 1 s");
  const Exchanges exchanges = exchange(part,
                                       {part.adding_for("tenant 1", kLargeBytes, seconds),
                                        part.adding_for("tenant 2", kLargeBytes, seconds)},
                                       seconds);
  const bool judged = !part.machine().simulated() &&
                      part.machine().device_name().find(kExchangeCard) != std::string::npos;
  const std::optional<Target> rate = judged ? std::optional(kExchangeRate) : std::nullopt;
  part.add_count("exchanges", {static_cast<double>(exchanges.spans.size())}, "", kSome);
  if (exchanges.spans.empty()) {
    part.add_unseen(kRate, "GB/s", rate,
                    "the daemon gave both tenants windows without an exchange");
    return;
  }
  std::vector<double> stalls_s;
  std::vector<double> rates;
  std::vector<double> bytes;
  for (const Span& span : exchanges.spans) {
    stalls_s.push_back(seconds_of(part, span));
    bytes.push_back(part.machine().nominal_bytes(bytes_exchanged(exchanges.seen.holdings, span)));
    rates.push_back(bytes.back() * 1e-9 / stalls_s.back());
  }
  part.add("nobody runs for", stalls_s, "s");
  if (median(bytes) <= 0) {
    part.add_unseen(kRate, "GB/s", rate, "the daemon does not say where memory is");
    return;
  }
  part.add_bytes("moved, both ways together", bytes);
  part.add(kRate, rates, "GB/s", rate);
}

void measure_reading(MemoryPart& part, double seconds) {
  part.step("memory that is only read");
  part.begin_section("A tenant that only reads its 12 GiB, beside one that writes 12 GiB");
  const Exchanges exchanges = exchange(part,
                                       {part.reading_for("reader", kLargeBytes, seconds),
                                        part.adding_for("writer", kLargeBytes, seconds)},
                                       seconds);
  const std::vector<Leave> leaves =
      leaves_of(exchanges.seen.holdings, exchanges.seen.run.tenants[0].pid);
  std::vector<double> percent;
  for (std::size_t i = kFirstLeaves; i < leaves.size(); ++i) {
    percent.push_back(100 * leaves[i].copied / leaves[i].bytes);
  }
  const char* const what = "copied out again, of what leaves";
  if (percent.empty()) {
    part.add_unseen(what, "%", kCopiedAgain,
                    "its memory left too seldom, or the daemon does not say where it is");
    return;
  }
  part.add_count(what, percent, "%", kCopiedAgain);
}

void measure_latency(MemoryPart& part, double seconds) {
  part.step("requests beside exchanges");
  part.begin_section("A closed loop of tiny requests while memory of two others is exchanged");
  Tenants requester(part.machine(), {part.daemon().tenant()}, {});
  const double wall_s = part.machine().wall_seconds(seconds) + kPrepareSeconds;
  std::future<std::vector<nlohmann::json>> requests =
      std::async(std::launch::async, [&] { return requester.together({recording(0)}, wall_s); });
  const Exchanges exchanges = exchange(part,
                                       {part.adding_for("tenant 1", kLargeBytes, seconds),
                                        part.adding_for("tenant 2", kLargeBytes, seconds)},
                                       seconds);
  requests.get();
  const nlohmann::json answer = requester.recorded(0, exchanges.spans);
  const std::optional<Target> p99 =
      part.machine().simulated() ? std::nullopt : std::optional(kLatencyBeside);
  if (answer.at("count") == 0) {
    part.add_unseen(
        "p99", "us", p99,
        fmt::format("no request fell into one of {} exchanges", exchanges.spans.size()));
    return;
  }
  const auto add = [&](const char* what, const char* key, std::optional<Target> target) {
    part.add(what, {answer.at(key).get<double>() * 1e6}, "us", target);
  };
  add("p50", "p50_s", std::nullopt);
  add("p99", "p99_s", p99);
  add("longest", "longest_s", std::nullopt);
}

}  // namespace
}  // namespace swap_case

void SwapCase::run(const Bench& bench) const {
  using namespace swap_case;
  const Plan plan = plan_for(bench);
  Progress progress(name(), plan.reading_s > 0 ? 3 : 2);
  MemoryPart part(bench, progress, kTurnSeconds);
  measure_exchanges(part, plan.exchange_s);
  if (plan.reading_s > 0) measure_reading(part, plan.reading_s);
  measure_latency(part, plan.latency_s);
}

}  // namespace nvs::bench
