// SPDX-License-Identifier: Apache-2.0
// Processor time of the daemon with very many clients, of which a few run. The GPUs exist in their
// messages alone: without NVML the daemon learns them from its clients.
#include <array>

#include <fmt/format.h>

#include "bench/cases/scale_part.h"
#include "bench/daemon_process.h"
#include "bench/failure.h"
#include "bench/wire_clients.h"
#include "os/process.h"

namespace nvs::bench::scale_case {
namespace {

constexpr std::size_t kClients = 1000;
constexpr std::size_t kRunners = 16;
// All on one GPU; and two on each of eight, which is eight times the windows.
constexpr std::array<std::size_t, 2> kGpuCounts = {1, 8};
constexpr std::uint64_t kOpenFiles = 3 * kClients;
const Target kShareOfCore = {std::nullopt, 20};
// The daemon's longest windows by default. All runners always want one, so that they follow each
// other without a gap; and each ping has an answer. A busy machine may be late with either.
constexpr double kWindowSeconds = 0.08;
constexpr double kServedLeast = 0.5;

Row row(const std::string& what, double value, const char* unit,
        std::optional<Target> target = std::nullopt) {
  return {fmt::format("The daemon, {} connected clients, {} of them run", kClients, kRunners),
          what,
          {value, value, value},
          unit,
          std::nullopt,
          target,
          std::nullopt};
}

void measure(const Bench& bench, std::size_t gpus, double seconds) {
  // Whatever a dilated simulator means to cases beside this one.
  const std::string window = fmt::format("{:.0f}ms", kWindowSeconds * 1e3);
  const DaemonProcess daemon(bench, {{"NVSHARE_NVML", "/nonexistent/no-nvml"}},
                             {"--window", window});
  WireClients clients(daemon.folder(), {kClients, kRunners, gpus});
  daemon.expect_clients(kClients);
  const double cpu_before = daemon.cpu_seconds();
  const std::int64_t start = now_ns();
  const WireClients::Counted counted = clients.run(seconds);
  const double elapsed_s = static_cast<double>(now_ns() - start) * 1e-9;
  const double cpu_s = daemon.cpu_seconds() - cpu_before;
  expect_served(counted, gpus, elapsed_s);
  const std::string where = gpus == 1 ? "on one GPU" : fmt::format("on {} GPUs", gpus);
  bench.report.add(row(where + ", of one core", 100 * cpu_s / elapsed_s, "%", kShareOfCore));
  bench.report.add(
      row(where + ", windows", static_cast<double>(counted.windows) / elapsed_s, "1/s"));
  bench.report.add(
      row(where + ", answers to pings", static_cast<double>(counted.pongs) / elapsed_s, "1/s"));
}

}  // namespace

void expect_served(const WireClients::Counted& counted, std::size_t gpus, double elapsed_s) {
  const double windows = static_cast<double>(gpus) * elapsed_s / kWindowSeconds;
  if (static_cast<double>(counted.windows) < kServedLeast * windows) {
    throw Failure(fmt::format("the daemon gave {} windows in {:.1f} s, of about {:.0f}",
                              counted.windows, elapsed_s, windows));
  }
  if (static_cast<double>(counted.pongs) < kServedLeast * static_cast<double>(counted.pings)) {
    throw Failure(fmt::format("the daemon answered {} of {} pings", counted.pongs, counted.pings));
  }
}

void measure_daemon(const Bench& bench, Progress& progress) {
  const Result<std::uint64_t> files = os::raise_open_files();
  if (!files || *files < kOpenFiles) {
    throw Failure(fmt::format("{} open files are needed: raise the limit (ulimit -n)", kOpenFiles));
  }
  for (const std::size_t gpus : kGpuCounts) {
    progress.step(fmt::format("the daemon, {} GPUs", gpus));
    measure(bench, gpus, bench.quick ? 2 : 10);
  }
}

}  // namespace nvs::bench::scale_case
