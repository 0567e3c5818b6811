// SPDX-License-Identifier: Apache-2.0
// What threads meet at a closed gate, and what whoever closes it may rely on. Prints "ok", or what
// did not hold.
#include <cerrno>
#include <csignal>
#include <memory>
#include <vector>

#include <sys/wait.h>

#include "tests/interposer/programs/gate_kit.h"

namespace nvs::program {
namespace {

int ok() {
  NVS_CHECK(gate().inside() == 0);
  std::puts("ok");
  return 0;
}

int waits_and_goes_on() {
  gate().close();
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>([i] {
      for (unsigned j = 0; j < 5; ++j) NVS_CHECK(gpu().launch(100 * i + j) == CUDA_SUCCESS);
    }));
  }
  for (const auto& worker : workers) worker->await_waiting();
  NVS_CHECK(gpu().launches() == 0);
  gate().open();
  for (const auto& worker : workers) worker->join();
  NVS_CHECK(gpu().launches() == 20);
  std::vector<unsigned> next(4);
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned number = gpu().launched(i);
    NVS_CHECK(number % 100 == next.at(number / 100)++);
  }
  return ok();
}

// Allocations, copies that are not launches, and questions.
int other_calls_at_the_gate() {
  gate().close();
  CUdeviceptr address = 0;
  NVS_CHECK(NVS_FIND(cuMemAlloc_v2)(&address, 4096) == CUDA_SUCCESS);
  NVS_CHECK(NVS_FIND(cuMemFree_v2)(address) == CUDA_SUCCESS);
  int byte = 0;
  Worker copier([&] { NVS_DO(NVS_FIND(cuMemcpyHtoD_v2)(4096, &byte, 1)); });
  Worker grapher([] { NVS_DO(NVS_FIND(cuGraphLaunch)(nullptr, nullptr)); });
  Worker extended([] {
    CUlaunchConfig config{};
    NVS_DO(NVS_FIND(cuLaunchKernelEx)(&config, nullptr, nullptr, nullptr));
  });
  copier.await_waiting();
  grapher.await_waiting();
  extended.await_waiting();
  gate().open();
  copier.join();
  grapher.join();
  extended.join();
  return ok();
}

int captures_pass() {
  auto* const begin = NVS_FIND(cuStreamBeginCapture_v2);
  auto* const end = NVS_FIND(cuStreamEndCapture);
  CUstream capturing = nullptr;
  CUstream other = nullptr;
  NVS_DO(NVS_FIND(cuStreamCreate)(&capturing, 0));
  NVS_DO(NVS_FIND(cuStreamCreate)(&other, 0));
  NVS_DO(begin(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
  gate().close();
  // It is not even marked, however long it takes.
  Hold hold;
  Worker slow([=] { NVS_DO(gpu().launch(0, capturing)); });
  hold.await_inside(1);
  NVS_CHECK(gate().inside() == 0);
  hold.only_these();
  hold.let_go();
  slow.join();
  Worker recorder([=] {
    for (unsigned i = 1; i < 10; ++i) NVS_DO(gpu().launch(i, capturing));
    NVS_DO(NVS_FIND(cuMemcpyHtoDAsync_v2)(4096, nullptr, 0, capturing));
    CUlaunchConfig config{};
    config.hStream = capturing;
    NVS_DO(NVS_FIND(cuLaunchKernelEx)(&config, nullptr, nullptr, nullptr));
    CUgraph graph = nullptr;
    NVS_DO(end(capturing, &graph));
  });
  recorder.join();
  NVS_CHECK(gpu().launches() == 11);
  Worker waiter([=] { NVS_DO(gpu().launch(1, other)); });
  waiter.await_waiting();
  // No longer a capture, so no longer free.
  Worker former([=] { NVS_DO(gpu().launch(2, capturing)); });
  former.await_waiting();
  NVS_CHECK(gpu().launches() == 11);
  gate().open();
  waiter.join();
  former.join();
  return ok();
}

int other_gpus_are_free() {
  gate().close(0);
  Worker here([] { NVS_DO(gpu().launch(1)); }, 0);
  here.await_waiting();
  Worker there([] { NVS_DO(gpu().launch(2)); }, 1);
  there.join();
  gate().close(1);
  gate().open(0);
  here.join();
  Worker there_again([] { NVS_DO(gpu().launch(3)); }, 1);
  there_again.await_waiting();
  gate().open(1);
  there_again.join();
  NVS_CHECK(gpu().launched(0) == 2 && gpu().launched(1) == 1 && gpu().launched(2) == 3);
  return ok();
}

// While one thread is inside, another closes. The one inside may call again, and is waited for.
int close_waits_for_those_inside() {
  static std::atomic<bool> g_nest{false};
  static std::atomic<bool> g_leave{false};
  static std::atomic<bool> g_inside{false};
  gpu().on_launch(
      [](void*) {
        g_inside.store(true);
        while (!g_nest.load()) std::this_thread::yield();
        gpu().on_launch(nullptr, nullptr);
        NVS_DO(gpu().launch(2));
        int byte = 0;
        NVS_DO(NVS_FIND(cuMemcpyHtoD_v2)(4096, &byte, 1));
        while (!g_leave.load()) std::this_thread::yield();
      },
      nullptr);
  Worker inside([] { NVS_DO(gpu().launch(1)); });
  while (!g_inside.load()) std::this_thread::yield();
  std::atomic<bool> closed{false};
  Worker closer([&] {
    gate().close();
    closed.store(true);
  });
  // Whoever waits at the gate shows that it is closing; whoever came too early tries again.
  gpu().on_launch(nullptr, nullptr);
  std::atomic<bool> end{false};
  Worker late([&] {
    while (!end.load()) NVS_DO(gpu().launch(3));
  });
  late.await_waiting();
  const unsigned before = gpu().launches();
  g_nest.store(true);
  while (gpu().launches() == before) std::this_thread::yield();
  NVS_CHECK(gate().inside() == 1 && !closed.load());
  g_leave.store(true);
  inside.join();
  closer.join();
  NVS_CHECK(gpu().launches() == before + 1);
  end.store(true);
  gate().open();
  late.join();
  return ok();
}

int close_gives_up() {
  Hold hold;
  Worker inside([] { NVS_DO(gpu().launch(1)); });
  hold.await_inside(1);
  hold.only_these();
  for (int i = 0; i < 3; ++i) NVS_CHECK(gate().close_gpu(0, 20) == -ETIMEDOUT);
  NVS_CHECK(gate().close_gpu(1, 0) == -ETIMEDOUT);
  // It is open again, for this thread and for new ones.
  NVS_DO(gpu().launch(2));
  Worker other([] { NVS_DO(gpu().launch(3)); });
  other.join();
  hold.let_go();
  inside.join();
  gate().close();
  gate().open();
  return ok();
}

// A thread that waits at the gate while closing fails is let go.
int close_gives_up_on_waiters_too() {
  Hold hold;
  Worker inside([] { NVS_DO(gpu().launch(1)); });
  hold.await_inside(1);
  hold.only_these();
  std::atomic<bool> end{false};
  Worker busy([&] {
    while (!end.load()) NVS_DO(gpu().launch(2));
  });
  for (int i = 0; i < 20; ++i) NVS_CHECK(gate().close_gpu(0, 5) == -ETIMEDOUT);
  end.store(true);
  busy.join();
  hold.let_go();
  inside.join();
  return ok();
}

int fork_leaves_the_child_free() {
  NVS_DO(gpu().launch(1));
  gate().close();
  Worker waiter([] { NVS_DO(gpu().launch(2)); });
  waiter.await_waiting();
  const pid_t child = ::fork();
  if (child == 0) {
    NVS_DO(gpu().launch(3));
    NVS_CHECK(gate().inside() == 0);
    // The child has a gate of its own.
    gate().close();
    Worker own([] { NVS_DO(gpu().launch(4)); });
    own.await_waiting();
    gate().open();
    own.join();
    ::_exit(0);
  }
  int status = -1;
  NVS_CHECK(::waitpid(child, &status, 0) == child && status == 0);
  NVS_CHECK(gpu().launches() == 1 && !waiter.is_done());
  gate().open();
  waiter.join();
  return ok();
}

// From the middle of a call, with others inside as well.
int fork_from_inside() {
  static int g_status = -1;
  Hold hold;
  Worker inside([] { NVS_DO(gpu().launch(1)); });
  hold.await_inside(1);
  gpu().on_launch(
      [](void*) {
        gpu().on_launch(nullptr, nullptr);
        const pid_t child = ::fork();
        if (child != 0) {
          NVS_CHECK(::waitpid(child, &g_status, 0) == child);
          return;
        }
        gate().close();
        gate().open();
        NVS_DO(gpu().launch(3));
      },
      nullptr);
  const pid_t parent = ::getpid();
  NVS_DO(gpu().launch(2));
  if (::getpid() != parent) {
    NVS_CHECK(gate().inside() == 0);
    gate().close();
    gate().open();
    NVS_DO(gpu().launch(4));
    ::_exit(0);
  }
  NVS_CHECK(g_status == 0);
  hold.let_go();
  inside.join();
  return ok();
}

constexpr Case kCases[] = {
    {"waits_and_goes_on", waits_and_goes_on},
    {"other_calls_at_the_gate", other_calls_at_the_gate},
    {"captures_pass", captures_pass},
    {"other_gpus_are_free", other_gpus_are_free},
    {"close_waits_for_those_inside", close_waits_for_those_inside},
    {"close_gives_up", close_gives_up},
    {"close_gives_up_on_waiters_too", close_gives_up_on_waiters_too},
    {"fork_leaves_the_child_free", fork_leaves_the_child_free},
    {"fork_from_inside", fork_from_inside},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
