// SPDX-License-Identifier: Apache-2.0
// What handing a GPU over costs on the card itself. Two processes hand it over through shared
// memory and spin, without a daemon or a library between them, so no handover of ours is cheaper.
// It runs on a machine that has nothing of ours but this repository:
//   g++ -std=c++20 -O2 -I. -Isrc -o handover tests/gpu/programs/handover.cpp -ldl && ./handover
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_gpu.h"

namespace {

using namespace nvs::programs;

constexpr char kUsage[] =
    "usage: handover [--quick]\n"
    "\n"
    "Measures what it costs to hand a GPU from one process to another, and prints two tables as\n"
    "Markdown: a request between the kernels of another process, and two processes that saturate\n"
    "the GPU by turns. All is measured twice. It takes about half a minute, and nothing else\n"
    "should use the GPU or the two CPU cores on which it spins.\n"
    "\n"
    "  --quick   a cycle or two of each: to see that it runs, not to measure\n"
    "  --help    this text\n"
    "\n"
    "The driver is libcuda.so.1, or what NVSHARE_CUDA_LIBRARY names; the GPU is the first one.\n";

constexpr double kKernelUs = 1700;
constexpr double kRequestUs = 20;
constexpr double kWindowUs = 20000;
constexpr int kKernelsPerRequest = 5;
constexpr std::uint64_t kElementsMin = 4096;
constexpr std::size_t kRepeats = 2;

struct Length {
  double warm_us = 500000;
  int kernels = 200;
  int unmeasured_cycles = 5;
  int cycles = 100;
  int windows = 40;
};
constexpr Length kQuick{
    .warm_us = 0, .kernels = 5, .unmeasured_cycles = 1, .cycles = 2, .windows = 1};

// What the two processes share. All of it starts as zeros.
struct Shared {
  std::atomic<unsigned> meetings;
  std::atomic<std::uint64_t> kernel_elements;
  std::atomic<double> kernel_us;
  std::atomic<bool> requests_over;
  std::atomic<int> asked, submitted, answered;  // numbers of requests
  std::atomic<int> turn;                        // number of the window that may open
  std::array<std::atomic<double>, 2> end_us;
};
static_assert(std::atomic<double>::is_always_lock_free);

// Both processes go on when both have come.
void meet(Shared& shared) {
  const unsigned came = ++shared.meetings;
  const unsigned both = (came + 1) / 2 * 2;
  spin_until([&] { return shared.meetings >= both; });
}

// How long before the end of the last kernel the other one is told; none: when the end was seen.
using Early = std::optional<double>;

// What was submitted ends; the other process is told by `tell`.
template <class Tell>
void end_and_tell(Gpu& gpu, double kernel_us, Early early_us, Tell tell) {
  if (early_us) {
    gpu.wait_for_one_before_last();
    const double when = now_us() + kernel_us - *early_us;
    spin_until([&] { return now_us() >= when; });
    tell();
    gpu.wait_for_last();
  } else {
    gpu.wait_for_last();
    tell();
  }
}

// Finds how many elements make a kernel of kKernelUs, with the clocks up.
void calibrate(Gpu& gpu, Shared& shared, const Length& length) {
  std::uint64_t elements = gpu.elements_max() / 4;
  double kernel_us = 0;
  for (const double end = now_us() + length.warm_us; now_us() < end;) gpu.measure_us(elements, 20);
  for (int i = 0; i < 3; ++i) {
    kernel_us = gpu.measure_us(elements, length.kernels);
    const double wanted = static_cast<double>(elements) * kKernelUs / kernel_us;
    elements = std::clamp(static_cast<std::uint64_t>(wanted), kElementsMin, gpu.elements_max());
    elements -= elements % 4;
  }
  shared.kernel_elements = elements;
  shared.kernel_us = gpu.measure_us(elements, length.kernels);
}

std::uint64_t request_elements(const Shared& shared) {
  const double elements = static_cast<double>(shared.kernel_elements) * kRequestUs / kKernelUs;
  return std::max(kElementsMin, static_cast<std::uint64_t>(elements) / 4 * 4);
}

enum class Next { kBehindRequest, kAfterRequest };

struct Way {
  const char* text;
  Early early_us;
  Next next;
};
constexpr std::array<Way, 9> kWays = {{
    {"submitted when the kernel was seen to end, the next kernel when the request was",
     {},
     Next::kAfterRequest},
    {"the same, but the next kernel submitted right behind the request", {}, Next::kBehindRequest},
    {"the request submitted 0 us before the kernel's end", 0, Next::kAfterRequest},
    {"15 us before", 15, Next::kAfterRequest},
    {"30 us before", 30, Next::kAfterRequest},
    {"45 us before", 45, Next::kAfterRequest},
    {"60 us before", 60, Next::kAfterRequest},
    {"100 us before", 100, Next::kAfterRequest},
    {"400 us before", 400, Next::kAfterRequest},
}};

// The process that sends a request whenever it is asked to.
void serve_requests(Gpu& gpu, Shared& shared) {
  const std::uint64_t elements = request_elements(shared);
  gpu.measure_us(elements, 20);
  meet(shared);
  for (int seen = 0;;) {
    int asked = seen;
    spin_until([&] { return (asked = shared.asked) != seen || shared.requests_over; });
    if (asked == seen) return;
    gpu.submit(elements, 1);
    shared.submitted = seen = asked;
    gpu.wait_for_last();
    shared.answered = seen;
  }
}

// A cycle is some kernels and a request, or without a way the kernels alone.
double cycle_us(Gpu& gpu, Shared& shared, const Way* way, const Length& length) {
  double start = 0;
  for (int cycle = -length.unmeasured_cycles; cycle < length.cycles; ++cycle) {
    if (cycle == 0) start = now_us();
    gpu.submit(shared.kernel_elements, kKernelsPerRequest);
    if (way == nullptr) {
      gpu.wait_for_last();
      continue;
    }
    const int request = shared.asked + 1;
    end_and_tell(gpu, shared.kernel_us, way->early_us, [&] { shared.asked = request; });
    const auto& awaited = way->next == Next::kAfterRequest ? shared.answered : shared.submitted;
    spin_until([&] { return awaited == request; });
  }
  const double per_cycle = (now_us() - start) / length.cycles;
  spin_until([&] { return shared.answered == shared.asked; });
  return per_cycle;
}

void measure_requests(Gpu& gpu, Shared& shared, const Length& length) {
  std::array<std::array<double, kRepeats>, kWays.size()> lost_us{};
  meet(shared);
  for (std::size_t repeat = 0; repeat < kRepeats; ++repeat) {
    const double alone_us = cycle_us(gpu, shared, nullptr, length);
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      lost_us[i][repeat] = cycle_us(gpu, shared, &kWays[i], length) - alone_us;
    }
  }
  shared.requests_over = true;
  std::printf(
      "| a request between kernels of %.2f ms | us lost to the kernels | again |\n"
      "|---|---|---|\n",
      shared.kernel_us / 1000);
  for (std::size_t i = 0; i < kWays.size(); ++i) {
    std::printf("| %s | %.0f | %.0f |\n", kWays[i].text, lost_us[i][0], lost_us[i][1]);
  }
  std::printf("\n");
}

struct Turns {
  const char* text;
  Early early_us;
};
constexpr std::array<Turns, 2> kTurns = {{
    {"submitted when the other's last kernel was seen to end", {}},
    {"submitted 100 us before that", 100},
}};

int kernels_per_window(const Shared& shared) {
  return std::max(2, static_cast<int>(std::lround(kWindowUs / shared.kernel_us)));
}

// This process's windows; the numbers of all windows start at `first`.
void take_turns(Gpu& gpu, Shared& shared, int me, Early early_us, int first, int windows) {
  for (int window = first + me; window < first + 2 * windows; window += 2) {
    spin_until([&] { return shared.turn >= window; });
    gpu.submit(shared.kernel_elements, kernels_per_window(shared));
    end_and_tell(gpu, shared.kernel_us, early_us, [&] { shared.turn = window + 1; });
  }
  shared.end_us[static_cast<std::size_t>(me)] = now_us();
}

struct PairResult {
  double percent;
  double lost_us;
};

PairResult measure_pair(Gpu& gpu, Shared& shared, int me, Early early_us, const Length& length) {
  const int all = 2 * length.windows;
  const int first = shared.turn;
  double alone_us = 0;
  if (me == 0) alone_us = gpu.measure_us(shared.kernel_elements, length.kernels);
  meet(shared);
  const double start = now_us();
  take_turns(gpu, shared, me, early_us, first, length.windows);
  meet(shared);
  const double took_us = std::max<double>(shared.end_us[0], shared.end_us[1]) - start;
  const double work_us = alone_us * all * kernels_per_window(shared);
  return {100 * work_us / took_us, (took_us - work_us) / all};
}

void measure_pairs(Gpu& gpu, Shared& shared, int me, const Length& length) {
  std::array<std::array<PairResult, kRepeats>, kTurns.size()> results{};
  for (std::size_t repeat = 0; repeat < kRepeats; ++repeat) {
    for (std::size_t i = 0; i < kTurns.size(); ++i) {
      results[i][repeat] = measure_pair(gpu, shared, me, kTurns[i].early_us, length);
    }
  }
  if (me != 0) return;
  std::printf(
      "| two that saturate the GPU by windows of %.0f ms; the first kernel is "
      "| %% of alone | again | us lost a switch | again |\n|---|---|---|---|---|\n",
      kWindowUs / 1000);
  for (std::size_t i = 0; i < kTurns.size(); ++i) {
    const auto& [one, two] = results[i];
    std::printf("| %s | %.2f | %.2f | %.0f | %.0f |\n", kTurns[i].text, one.percent, two.percent,
                one.lost_us, two.lost_us);
  }
}

// The second process starts when the first has come through: what fails for both is said once.
int run_first(Shared& shared, const Length& length) {
  Gpu gpu;
  meet(shared);
  meet(shared);
  calibrate(gpu, shared, length);
  const double request_us = gpu.measure_us(request_elements(shared), length.kernels);
  std::printf("%s: kernels of %.0f us, requests of %.0f us\n\n", gpu.name(),
              shared.kernel_us.load(), request_us);
  meet(shared);
  measure_requests(gpu, shared, length);
  measure_pairs(gpu, shared, 0, length);
  return 0;
}

int run_second(Shared& shared, const Length& length) {
  meet(shared);
  Gpu gpu;
  meet(shared);
  meet(shared);
  serve_requests(gpu, shared);
  measure_pairs(gpu, shared, 1, length);
  return 0;
}

using Run = int (*)(Shared& shared, const Length& length);

pid_t start(Run run, Shared& shared, const Length& length) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork", std::strerror(errno));
  if (child > 0) return child;
  // It spins for somebody who may be gone.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::exit(1);
  std::exit(run(shared, length));
}

int measure(const Length& length) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap", std::strerror(errno));
  auto& shared = *new (memory) Shared{};
  const std::array<pid_t, 2> children = {start(run_first, shared, length),
                                         start(run_second, shared, length)};
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "handover: a process was ended by signal %d\n", WTERMSIG(status));
    }
    if (left == 2) kill(children[ended == children[0] ? 1 : 0], SIGKILL);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Length length;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (std::strcmp(argv[i], "--quick") != 0) {
      std::fprintf(stderr, "handover: %s is no option\n%s", argv[i], kUsage);
      return 2;
    }
    length = kQuick;
  }
  return measure(length);
}
