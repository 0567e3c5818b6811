// SPDX-License-Identifier: Apache-2.0
// The ways in which a program that uses the driver makes other processes.
#include <atomic>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/interposer/programs/launcher.h"

namespace nvs::program {
namespace {

char g_self[4096];

// What a process can do, whoever it is.
void use_driver(const char* who) {
  const unsigned before = gpu().launches();
  gpu().use(0);
  const int launched = gpu().launch(5);
  CUdeviceptr address = 0;
  const int allocated = NVS_FIND(cuMemAlloc_v2)(&address, 4096);
  const int freed = NVS_FIND(cuMemFree_v2)(address);
  std::printf("%s: %d %d %d, %u launch\n", who, launched, allocated, freed,
              gpu().launches() - before);
  std::fflush(stdout);
}

void print_end_of(pid_t child) {
  int status = -1;
  if (::waitpid(child, &status, 0) != child) give_up("waitpid");
  std::printf("child ended: %d\n", status);
  std::fflush(stdout);
}

pid_t checked(pid_t child) {
  if (child < 0) give_up("fork");
  return child;
}

int fork_after_use() {
  use_driver("parent");
  for (int round = 0; round < 3; ++round) {
    const pid_t child = checked(::fork());
    if (child == 0) {
      use_driver("child");
      const pid_t grandchild = checked(::fork());
      if (grandchild == 0) {
        use_driver("grandchild");
        ::_exit(7);
      }
      print_end_of(grandchild);
      if (round == 0) ::_exit(8);
      std::exit(9);
    }
    print_end_of(child);
    use_driver("parent again");
  }
  evidence_of("launch", gpu().launch_kernel);
  return 0;
}

int fork_before_use() {
  driver();
  const pid_t child = checked(::fork());
  if (child == 0) {
    use_driver("child");
    std::exit(0);
  }
  print_end_of(child);
  use_driver("parent");
  return 0;
}

// Other threads are in the middle of calls, one of them for good.
int fork_while_busy() {
  std::atomic<bool> end{false};
  gpu();
  // A thread that is inside when the process forks is inside nothing in the child. The fake driver
  // itself must not be forked with its locks held, so the others stay inside without one.
  struct Stay {
    std::atomic<int> inside{0};
    std::atomic<bool>* end;
  } stay{.inside = 0, .end = &end};
  gpu().on_launch(
      [](void* argument) {
        auto& at = *static_cast<Stay*>(argument);
        at.inside.fetch_add(1);
        while (!at.end->load()) std::this_thread::yield();
      },
      &stay);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      gpu().use(0);
      gpu().launch(1);
    });
  }
  while (stay.inside.load() != 4) std::this_thread::yield();
  gpu().on_launch(nullptr, nullptr);
  int good = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = checked(::fork());
    if (child == 0) ::_exit(gpu().launch(2) == CUDA_SUCCESS ? 0 : 1);
    int status = -1;
    if (::waitpid(child, &status, 0) == child && status == 0) ++good;
  }
  std::printf("%d children\n", good);
  use_driver("parent");
  end.store(true);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// From a thread that is inside a call itself: the child returns from it, and so does the parent.
int fork_inside_a_call() {
  static pid_t g_child = -1;
  gpu().on_launch(
      [](void*) {
        g_child = checked(::fork());
        if (g_child != 0) print_end_of(g_child);
      },
      nullptr);
  const int result = gpu().launch(1);
  std::printf("launch in the %s: %d\n", g_child == 0 ? "child" : "parent", result);
  gpu().on_launch(nullptr, nullptr);
  use_driver(g_child == 0 ? "child" : "parent");
  return 5;
}

int fork_from_a_thread() {
  use_driver("main");
  std::thread([] {
    use_driver("thread");
    const pid_t child = checked(::fork());
    if (child == 0) {
      use_driver("child");
      std::thread([] { use_driver("thread of the child"); }).join();
      ::_exit(0);
    }
    print_end_of(child);
  }).join();
  use_driver("main");
  return 0;
}

int say_hello() {
  use_driver("new program");
  evidence_of("launch", gpu().launch_kernel);
  return 3;
}

int run_another() {
  use_driver("old program");
  char* arguments[] = {g_self, const_cast<char*>("say_hello"), nullptr};
  ::execve(g_self, arguments, environ);
  give_up("execve");
}

int vfork_another() {
  use_driver("old program");
  char* arguments[] = {g_self, const_cast<char*>("say_hello"), nullptr};
  const pid_t child =
      ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): that is the case
  if (child == 0) {
    ::execve(g_self, arguments, environ);
    ::_exit(126);
  }
  print_end_of(checked(child));
  use_driver("old program");
  return 0;
}

int spawn_another() {
  use_driver("old program");
  char* arguments[] = {g_self, const_cast<char*>("say_hello"), nullptr};
  pid_t child = -1;
  if (::posix_spawn(&child, g_self, nullptr, nullptr, arguments, environ) != 0) give_up("spawn");
  print_end_of(child);
  use_driver("old program");
  return 0;
}

constexpr Case kCases[] = {
    {"fork_after_use", fork_after_use},
    {"fork_before_use", fork_before_use},
    {"fork_while_busy", fork_while_busy},
    {"fork_inside_a_call", fork_inside_a_call},
    {"fork_from_a_thread", fork_from_a_thread},
    {"say_hello", say_hello},
    {"run_another", run_another},
    {"vfork_another", vfork_another},
    {"spawn_another", spawn_another},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) {
  using namespace nvs::program;
  const ssize_t length = ::readlink("/proc/self/exe", g_self, sizeof g_self - 1);
  if (length <= 0) give_up("readlink");
  return run_case(argc, argv, kCases);
}
