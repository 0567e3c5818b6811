// SPDX-License-Identifier: Apache-2.0
// The pure core with very many tenants. A world in memory plays first and its events are written
// down; the core is deterministic, so that it can be stepped through them again with nothing but
// steps on the clock.
#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "bench/cases/scale_part.h"
#include "bench/child.h"
#include "bench/failure.h"
#include "core/scheduler.h"

namespace nvs::bench::scale_case {
namespace {

constexpr std::uint32_t kGpus = 16;
constexpr std::uint64_t kTenants = 1000;
constexpr std::array<std::uint64_t, 3> kTenantCounts = {250, 500, kTenants};
constexpr std::size_t kBatchSteps = 64;
constexpr Duration kDrain = Duration::from_us(900);
// Every third tenant sleeps: it works a little, goes idle, and comes back.
constexpr std::uint64_t kSleepersOneOf = 3;
constexpr Duration kSleepersWork = Duration::from_ms(3);
constexpr Duration kSleepMin = Duration::from_ms(50);
constexpr std::int64_t kSleepSpread_ns = 400'000'000;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kGpuBytes = 80 * kGiB;
// 62 of them share a GPU: 1.6 times what it has.
constexpr std::uint64_t kTenantBytes = 2 * kGiB;
constexpr double kBusBytesPerSecond = 50e9;

const Target kStep = {std::nullopt, 1};       // us
const Target kLinear = {std::nullopt, 1.25};  // bytes a tenant, of many over few

struct Happened {
  Instant at;
  core::Event event;
};

// Tenants with one client each, dealt out to the GPUs, that answer what the core tells them; with
// memory or without.
class World {
 public:
  World(std::uint64_t tenants, std::uint64_t seed, std::uint64_t bytes_each = 0)
      : random_(seed), bytes_each_(bytes_each), memory_(tenants) {
    for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      happens(core::GpuAdded{core::GpuId{gpu}, kGpuBytes, {}});
    }
    for (std::uint64_t i = 0; i < tenants; ++i) {
      const core::ClientId client{i};
      happens(core::ClientJoined{client, core::TenantId{i}});
      if (bytes_each_ > 0) happens(core::MemoryHeld{client, gpu_of(client), 0, 0, bytes_each_});
      later(Duration::from_us(static_cast<std::int64_t>(i)), core::Wanted{client, gpu_of(client)});
    }
  }

  // All that happens until then, in order.
  std::vector<Happened> play(Duration length) {
    const Instant end = now_ + length;
    for (;;) {
      const std::optional<Instant> deadline = scheduler_.next_deadline();
      const bool planned = !queue_.empty() && (!deadline || queue_.top().at <= *deadline);
      if (!planned && !deadline) break;
      const Instant at = planned ? queue_.top().at : *deadline;
      if (at > end) break;
      now_ = std::max(now_, at);
      if (planned) {
        const core::Event event = queue_.top().event;
        queue_.pop();
        happens(event);
      } else {
        happens(core::Tick{});
      }
    }
    return std::move(history_);
  }

 private:
  struct Planned {
    Instant at;
    std::uint64_t number;
    core::Event event;
    bool operator>(const Planned& other) const {
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };

  static core::GpuId gpu_of(core::ClientId client) {
    return core::GpuId{static_cast<std::uint32_t>(static_cast<std::uint64_t>(client) % kGpus)};
  }
  static bool sleeps(core::ClientId client) {
    return static_cast<std::uint64_t>(client) % kSleepersOneOf == 0;
  }

  void later(Duration wait, const core::Event& event) {
    queue_.push({now_ + wait, next_number_++, event});
  }

  void happens(const core::Event& event) {
    history_.push_back({now_, event});
    effects_.clear();
    scheduler_.step(now_, event, effects_);
    for (const core::Effect& effect : effects_) {
      if (const auto* open = std::get_if<core::OpenWindow>(&effect)) opened(*open);
      if (const auto* close = std::get_if<core::CloseWindow>(&effect)) closing(*close);
      if (const auto* word = std::get_if<core::SetAllowance>(&effect)) allowed(*word);
    }
  }

  // What is to leave leaves after a drain; one thing after the other, over the bus.
  void allowed(const core::SetAllowance& word) {
    Memory& mine = memory_[static_cast<std::uint64_t>(word.client)];
    const std::uint64_t resident = std::min(word.bytes, bytes_each_);
    const std::uint64_t moves =
        std::max(resident, mine.resident) - std::min(resident, mine.resident);
    const double seconds = static_cast<double>(moves) / kBusBytesPerSecond;
    const auto takes = Duration::from_ns(static_cast<std::int64_t>(seconds * 1e9));
    mine.resident = resident;
    mine.done = std::max(mine.done, now_ + kDrain) + takes;
    later(mine.done - now_,
          core::MemoryHeld{word.client, word.gpu, word.number, resident, bytes_each_ - resident});
  }

  void opened(const core::OpenWindow& open) {
    if (!sleeps(open.client)) return;
    later(kSleepersWork, core::WentIdle{open.client, open.gpu, open.grant});
  }

  void closing(const core::CloseWindow& close) {
    const bool has_more = !sleeps(close.client);
    later(kDrain, core::Drained{close.client, close.gpu, close.grant, has_more});
    if (has_more) return;
    const Duration sleep =
        kSleepMin + Duration::from_ns(static_cast<std::int64_t>(random_() % kSleepSpread_ns));
    later(sleep, core::Wanted{close.client, close.gpu});
  }

  struct Memory {
    std::uint64_t resident = 0;
    Instant done;  // when all that was told so far is carried out
  };

  std::mt19937_64 random_;
  std::uint64_t bytes_each_;
  std::vector<Memory> memory_;
  core::Scheduler scheduler_;
  Instant now_;
  std::uint64_t next_number_ = 0;
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> queue_;
  std::vector<Happened> history_;
  std::vector<core::Effect> effects_;
};

std::size_t allocated_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Replayed {
  std::vector<double> step_us;  // means of batches
  double bytes = 0;             // that the core has allocated at the end
};

Replayed replay(const std::vector<Happened>& history, std::size_t batch = kBatchSteps) {
  Replayed result;
  result.step_us.reserve(history.size() / batch + 1);
  std::vector<core::Effect> effects;
  effects.reserve(4 * kTenants);
  const std::size_t before = allocated_bytes();
  core::Scheduler scheduler;
  for (std::size_t first = 0; first + batch <= history.size(); first += batch) {
    const std::int64_t start = now_ns();
    for (std::size_t i = first; i < first + batch; ++i) {
      effects.clear();
      scheduler.step(history[i].at, history[i].event, effects);
    }
    const auto took_ns = static_cast<double>(now_ns() - start);
    result.step_us.push_back(took_ns * 1e-3 / static_cast<double>(batch));
  }
  result.bytes = static_cast<double>(allocated_bytes() - before);
  return result;
}

Row row(const std::string& what, const Summary& value, const char* unit,
        std::optional<Target> target = std::nullopt) {
  return {fmt::format("The core, {} GPUs", kGpus),
          what,
          value,
          unit,
          std::nullopt,
          target,
          std::nullopt};
}

Summary exactly(double value) { return {value, value, value}; }

}  // namespace

void measure_core(const Bench& bench, Progress& progress) {
  const Duration length = bench.quick ? Duration::from_s(5) : Duration::from_s(60);
  std::vector<double> tenant_bytes;
  for (const std::uint64_t tenants : kTenantCounts) {
    progress.step(fmt::format("the core, {} tenants", tenants));
    const std::vector<Happened> history = World(tenants, 1).play(length);
    const Replayed replayed = replay(history);
    tenant_bytes.push_back(replayed.bytes / static_cast<double>(tenants));
    if (tenants != kTenants) continue;
    bench.report.add(row("1000 tenants, a step", summarize(replayed.step_us), "us", kStep));
    bench.report.add(row("1000 tenants, a step, p99 of batches of 64",
                         exactly(percentile(replayed.step_us, 0.99)), "us"));
    bench.report.add(row("1000 tenants, steps a simulated second",
                         exactly(static_cast<double>(history.size()) / length.seconds()), "1/s"));
  }
  progress.step("the core, 1000 tenants that do not all fit");
  const std::vector<Happened> crowded = World(kTenants, 1, kTenantBytes).play(length);
  // Most steps have nothing to do with memory; those that divide it anew look at all of its GPU.
  const Replayed moved = replay(crowded, 1);
  bench.report.add(
      row("1000 tenants of 2 GiB on 16 x 80, a step", summarize(moved.step_us), "us", kStep));
  bench.report.add(row("1000 tenants of 2 GiB on 16 x 80, a step, p99",
                       exactly(percentile(moved.step_us, 0.99)), "us"));
  progress.step("the core's memory");
  for (std::size_t i = 0; i < kTenantCounts.size(); ++i) {
    bench.report.add(row(fmt::format("{} tenants, memory a tenant", kTenantCounts[i]),
                         exactly(tenant_bytes[i]), "bytes"));
  }
  bench.report.add(row("memory a tenant, 1000 over 250 tenants",
                       exactly(tenant_bytes.back() / tenant_bytes.front()), "x", kLinear));
}

}  // namespace nvs::bench::scale_case
