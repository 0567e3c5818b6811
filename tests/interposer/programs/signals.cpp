// SPDX-License-Identifier: Apache-2.0
// Signals that come while the program is inside the driver.
#include <csetjmp>
#include <csignal>

#include <sys/time.h>

#include "tests/interposer/programs/launcher.h"

namespace nvs::program {
namespace {

volatile std::sig_atomic_t g_signals = 0;
volatile std::sig_atomic_t g_nested = -1;
sigjmp_buf g_back;

void handle(int signal, void (*handler)(int), int flags = SA_RESTART) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (::sigaction(signal, &action, nullptr) != 0) give_up("sigaction");
}

int every_moment() {
  constexpr unsigned kLaunches = 100'000;
  handle(SIGALRM, [](int) { g_signals = g_signals + 1; });
  gpu();
  const itimerval often{.it_interval = {0, 100}, .it_value = {0, 100}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  unsigned good = 0;
  // At least that many, and until some signals have come.
  while (good < kLaunches || g_signals < 10) {
    if (gpu().launch(good % 1000) != CUDA_SUCCESS) give_up("a launch failed");
    ++good;
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("all arrived: %d\n", gpu().launches() == good);
  return 0;
}

// The handler calls the driver, which the program is inside of.
int handler_launches() {
  handle(SIGUSR1, [](int) {
    gpu().on_launch(nullptr, nullptr);
    g_nested = gpu().launch(22);
  });
  for (int round = 0; round < 100; ++round) {
    gpu().on_launch([](void*) { std::raise(SIGUSR1); }, nullptr);
    const int result = gpu().launch(21);
    if (round % 50 == 0) std::printf("%d, nested %d\n", result, static_cast<int>(g_nested));
  }
  std::printf("%u launches, inside %d\n", gpu().launches(), gpu().inside());
  evidence_of("launch", gpu().launch_kernel);
  return 0;
}

// The driver calls back and is called again, many levels deep.
int nested_calls() {
  static int g_depth = 0;
  gpu().on_launch(
      [](void*) {
        if (++g_depth < 50) gpu().launch(static_cast<unsigned>(g_depth));
      },
      nullptr);
  std::printf("%d\n", gpu().launch(0));
  for (unsigned i = 0; i < gpu().launches(); ++i) std::printf("%u ", gpu().launched(i));
  std::printf("inside %d\n", gpu().inside());
  return 0;
}

int jump_out_of_a_call() {
  handle(SIGUSR1, [](int) { ::siglongjmp(g_back, 1); });
  static int g_round = 0;  // survives the jump
  for (; g_round < 100; ++g_round) {
    gpu().on_launch([](void*) { std::raise(SIGUSR1); }, nullptr);
    if (sigsetjmp(g_back, 1) == 0) {
      gpu().launch(31);
      give_up("it came back");
    }
    gpu().on_launch(nullptr, nullptr);
    const int result = gpu().launch(32);
    if (result != CUDA_SUCCESS) give_up("a launch failed");
  }
  std::printf("%u launches\n", gpu().launches());
  return 0;
}

// It dies of it, as it would alone.
int fatal(int signal) {
  static int g_signal;
  g_signal = signal;
  gpu().on_launch([](void*) { std::raise(g_signal); }, nullptr);
  std::puts("before");
  std::fflush(stdout);
  gpu().launch(1);
  std::puts("after");
  return 0;
}
int segmentation() { return fatal(SIGSEGV); }
int abortion() { return fatal(SIGABRT); }
int termination() { return fatal(SIGTERM); }

constexpr Case kCases[] = {
    {"every_moment", every_moment}, {"handler_launches", handler_launches},
    {"nested_calls", nested_calls}, {"jump_out_of_a_call", jump_out_of_a_call},
    {"segmentation", segmentation}, {"abortion", abortion},
    {"termination", termination},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
