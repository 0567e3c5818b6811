// SPDX-License-Identifier: Apache-2.0
// Threads that come and go, many of them, and the ways in which they and the program end.
#include <atomic>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include "tests/interposer/programs/launcher.h"

namespace nvs::program {
namespace {

char g_exit_value = 0;
bool g_calls_at_end = false;

void print_result(const char* what) {
  std::printf("%s: launch %d, inside %d\n", what, gpu().launch(1), gpu().inside());
  std::fflush(stdout);
}

void* start_and_join(void* (*body)(void*)) {
  pthread_t thread{};
  void* result = nullptr;
  if (::pthread_create(&thread, nullptr, body, nullptr) != 0) give_up("pthread_create");
  ::pthread_join(thread, &result);
  return result;
}

int exit_inside_a_call() {
  print_result("before");
  for (int round = 0; round < 100; ++round) {
    gpu().on_launch([](void*) { ::pthread_exit(&g_exit_value); }, nullptr);
    void* const result = start_and_join([](void*) -> void* {
      gpu().use(0);
      gpu().launch(2);
      return nullptr;
    });
    if (result != &g_exit_value) give_up("the thread went on");
    gpu().on_launch(nullptr, nullptr);
  }
  print_result("after");
  evidence_of("launch", gpu().launch_kernel);
  return 0;
}

int many_short_lives() {
  constexpr unsigned kThreads = 20'000;
  constexpr unsigned kAtOnce = 8;
  for (unsigned i = 0; i < kThreads; i += kAtOnce) {
    std::vector<std::thread> threads;
    for (unsigned j = 0; j < kAtOnce; ++j) {
      threads.emplace_back([] {
        gpu().use(0);
        gpu().launch(3);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::printf("%u launches\n", gpu().launches());
  return 0;
}

struct Crowd {
  std::atomic<unsigned> arrived{0};
  std::atomic<bool> go{false};
  std::atomic<unsigned> wrong{0};
};

void* be_in_crowd(void* argument) {
  auto& crowd = *static_cast<Crowd*>(argument);
  gpu().use(0);
  if (gpu().launch(4) != CUDA_SUCCESS) crowd.wrong.fetch_add(1);
  crowd.arrived.fetch_add(1);
  crowd.go.wait(false);
  if (gpu().launch(5) != CUDA_SUCCESS) crowd.wrong.fetch_add(1);
  return nullptr;
}

// More threads at once than anybody reckons with, or as many as the machine lets live.
int many_at_once() {
  constexpr unsigned kWanted = 5200;
  constexpr unsigned kEnough = 2000;
  Crowd crowd;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{64} << 10U);
  std::vector<pthread_t> threads;
  while (threads.size() < kWanted) {
    pthread_t thread{};
    if (::pthread_create(&thread, &attributes, &be_in_crowd, &crowd) != 0) break;
    threads.push_back(thread);
  }
  if (threads.size() < kEnough) give_up("this machine lets too few threads live");
  std::fprintf(stderr, "evidence: %zu threads at once\n", threads.size());
  while (crowd.arrived.load() != threads.size()) ::usleep(1000);
  crowd.go.store(true);
  crowd.go.notify_all();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  const bool all = gpu().launches() == 2 * threads.size();
  std::printf("all launched: %d, wrong: %u, inside %d\n", all, crowd.wrong.load(), gpu().inside());
  return 0;
}

// Runs at the end of its thread and wants to run again, as often as the system lets it.
pthread_key_t g_key;
std::atomic<int> g_rounds{0};
void launch_at_end(void* again) {
  gpu().launch(6);
  g_rounds.fetch_add(1);
  ::pthread_setspecific(g_key, again);
}

struct LaunchesWhenDestroyed {
  ~LaunchesWhenDestroyed() { gpu().launch(7); }
};

int end_of_threads() {
  ::pthread_key_create(&g_key, &launch_at_end);
  for (int round = 0; round < 50; ++round) {
    std::thread([] {
      static thread_local LaunchesWhenDestroyed t_object;
      ::pthread_setspecific(g_key, &t_object);
      gpu().use(0);
      gpu().launch(8);
    }).join();
    // A thread whose first call is made by its destructors.
    std::thread([] { ::pthread_setspecific(g_key, &g_key); }).join();
  }
  std::printf("%u launches, %d rounds, inside %d\n", gpu().launches(), g_rounds.load(),
              gpu().inside());
  print_result("after");
  return 0;
}

const struct AtProgramEnd {
  AtProgramEnd() = default;
  ~AtProgramEnd() {
    if (g_calls_at_end) std::printf("static destructor: %d\n", gpu().launch(1));
  }
} g_at_program_end;

int end_of_program() {
  g_calls_at_end = true;
  print_result("main");
  std::atexit([] { std::printf("exit handler: %d\n", gpu().launch(1)); });
  // Still at it when main has returned.
  static std::atomic<bool> g_runs{false};
  std::thread([] {
    gpu().use(0);
    for (;;) {
      gpu().launch(9);
      g_runs.store(true);
    }
  }).detach();
  while (!g_runs.load()) std::this_thread::yield();
  return 6;
}

int exit_from_thread() {
  g_calls_at_end = true;
  std::thread([] {
    gpu().use(0);
    print_result("thread");
    std::exit(7);
  }).join();
  return 0;
}

// Main ends as a thread does, and the program lives on.
int main_thread_leaves() {
  print_result("main");
  static pthread_t g_main;
  g_main = ::pthread_self();
  std::thread([] {
    ::pthread_join(g_main, nullptr);
    gpu().use(0);
    print_result("after main");
    std::exit(8);
  }).detach();
  ::pthread_exit(nullptr);
}

// Cancelled inside the driver, at a point where the driver waits.
std::atomic<bool> g_reached{false};
int cancel_inside_a_call(int type) {
  static int g_type;
  g_type = type;
  for (int round = 0; round < 20; ++round) {
    g_reached.store(false);
    gpu().on_launch(
        [](void*) {
          g_reached.store(true);
          if (g_type == PTHREAD_CANCEL_DEFERRED) {
            for (;;) ::pause();
          }
          for (volatile bool for_ever = true; for_ever;) {
          }
        },
        nullptr);
    pthread_t thread{};
    const auto body = [](void*) -> void* {
      ::pthread_setcanceltype(g_type, nullptr);
      gpu().use(0);
      gpu().launch(10);
      return nullptr;
    };
    if (::pthread_create(&thread, nullptr, body, nullptr) != 0) give_up("pthread_create");
    while (!g_reached.load()) std::this_thread::yield();
    ::pthread_cancel(thread);
    void* result = nullptr;
    ::pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) give_up("the thread was not cancelled");
    gpu().on_launch(nullptr, nullptr);
  }
  std::printf("launch: %d, of %u\n", gpu().launch(1), gpu().launches());
  return 0;
}
int cancel_deferred() { return cancel_inside_a_call(PTHREAD_CANCEL_DEFERRED); }
int cancel_at_once() { return cancel_inside_a_call(PTHREAD_CANCEL_ASYNCHRONOUS); }

constexpr Case kCases[] = {
    {"exit_inside_a_call", exit_inside_a_call},
    {"many_short_lives", many_short_lives},
    {"many_at_once", many_at_once},
    {"end_of_threads", end_of_threads},
    {"end_of_program", end_of_program},
    {"exit_from_thread", exit_from_thread},
    {"main_thread_leaves", main_thread_leaves},
    {"cancel_deferred", cancel_deferred},
    {"cancel_at_once", cancel_at_once},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
