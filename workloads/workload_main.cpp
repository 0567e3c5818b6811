// SPDX-License-Identifier: Apache-2.0
// nvshare-workload: one GPU program of known behaviour, for people and for the runner.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "workloads/options.h"
#include "workloads/size.h"
#include "workloads/status.h"
#include "workloads/workload_run.h"

namespace nvs::workloads {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kStatusInterval{0.1};

// Tells the terminal and the runner what happens.
class Reporter {
 public:
  explicit Reporter(const Options& options)
      : printer_(options.progress, options.label), fd_(options.status_fd) {}

  void report(const Status& status) {
    const Progress* progress = std::get_if<Progress>(&status);
    if (progress != nullptr) {
      printer_.update(*progress);
    } else {
      printer_.clear();
    }
    if (fd_ < 0) return;
    // All but progress is said at once; progress no more often than anyone looks.
    const Clock::time_point now = Clock::now();
    if (progress != nullptr && now < next_) return;
    next_ = now + std::chrono::duration_cast<Clock::duration>(kStatusInterval);
    send(encode_status(status));
  }

  void clear() { printer_.clear(); }

 private:
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      // Nobody listens any more; the run goes on for its own sake.
      if (written < 0) {
        fd_ = -1;
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  ProgressPrinter printer_;
  int fd_;
  Clock::time_point next_{};
};

// Returns at the time that the runner sends; the steady clock is CLOCK_MONOTONIC in all processes.
void wait_for_start(int fd) {
  std::string line;
  char byte = 0;
  while (byte != '\n') {
    const ssize_t got = ::read(fd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("no start time came on --start-fd");
    line += byte;
  }
  const auto since_boot =
      std::chrono::duration_cast<Clock::duration>(Seconds(std::atof(line.c_str())));
  std::this_thread::sleep_until(Clock::time_point(since_boot));
}

void print_header(const Options& options, const Gpu& gpu, const RunLimits& limits) {
  const std::string scale =
      gpu.scale() == 1 ? "" : fmt::format(", sizes divided by {}", gpu.scale());
  const std::string how_long = limits.iterations != 0
                                   ? fmt::format("{} iterations", limits.iterations)
                                   : fmt::format("{} s", limits.seconds);
  const char* managed = options.gpu.memory == MemoryKind::kManaged ? " of managed memory" : "";
  fmt::print("{}: {}{} on GPU {} ({}, {}{}), {}{}\n", options.label, format_size(options.run.bytes),
             managed, options.gpu.device, gpu.name(), gpu.uuid(), scale, how_long,
             options.rewrite == Rewrite::kAll ? ", all data rewritten in each" : "");
  std::fflush(stdout);
}

ResultStatus run(const Options& options, Reporter& reporter) {
  const Clock::time_point start = Clock::now();
  const Gpu gpu(options.gpu);
  const Kernels kernels(gpu);
  const RunLimits limits =
      limits_for(*options.kind, options.run, gpu.multiprocessors(), gpu.time_factor());
  print_header(options, gpu, limits);
  const auto workload = options.kind->create(
      kernels, {.bytes = options.run.bytes / gpu.scale(), .rewrite = options.rewrite});
  gpu.synchronize();
  reporter.report(ReadyStatus{.gpu_name = gpu.name(),
                              .bytes = options.run.bytes,
                              .prepare_seconds = Seconds(Clock::now() - start).count()});
  if (options.start_fd >= 0) wait_for_start(options.start_fd);
  return run_workload(gpu, *workload, limits,
                      [&](const Status& status) { reporter.report(status); });
}

int run_and_tell(const Options& options) {
  Reporter reporter(options);
  ResultStatus result;
  try {
    result = run(options, reporter);
  } catch (const std::exception& error) {
    result.message = error.what();
  }
  reporter.report(result);
  if (result.iterations != 0) {
    fmt::print("{}: {}  {:.1f} s  {} iterations  {:.1f} it/s  checked in {:.2f} s\n", options.label,
               result.pass ? "PASS" : "FAIL", result.seconds, result.iterations, result.rate,
               result.verify_seconds);
  }
  std::fflush(stdout);
  if (result.pass) return EXIT_SUCCESS;
  fmt::print(stderr, "{}: FAIL: {}\n", options.label, result.message);
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace nvs::workloads

int main(int argc, char** argv) try {
  nvs::workloads::Options options;
  int exit_code = EXIT_SUCCESS;
  if (!nvs::workloads::parse_options(argc, argv, options, exit_code)) return exit_code;
  return nvs::workloads::run_and_tell(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "nvshare-workload: %s\n", error.what());
  return EXIT_FAILURE;
}
