// SPDX-License-Identifier: Apache-2.0
// Threads that leave a call, or the gate, in other ways than by returning: the gate must not take
// them for inside for ever, nor for outside while they are in. Prints "ok", or what did not hold.
#include <csetjmp>
#include <csignal>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/interposer/programs/gate_kit.h"

namespace nvs::program {
namespace {

int ok() {
  gate().close();
  NVS_CHECK(gate().inside() == 0);
  gate().open();
  std::puts("ok");
  return 0;
}

int exit_inside() {
  for (int round = 0; round < 20; ++round) {
    gpu().on_launch([](void*) { ::pthread_exit(nullptr); }, nullptr);
    pthread_t thread{};
    const auto body = [](void*) -> void* {
      gpu().use(0);
      gpu().launch(1);
      return nullptr;
    };
    NVS_CHECK(::pthread_create(&thread, nullptr, body, nullptr) == 0);
    ::pthread_join(thread, nullptr);
    gpu().on_launch(nullptr, nullptr);
    gate().close();
    gate().open();
  }
  return ok();
}

// Cancelled while it stands at the gate: the call is made when the gate opens, and the thread ends
// after it, wherever it would have ended without us.
int cancel_at_the_gate(int type) {
  for (int round = 0; round < 10; ++round) {
    gate().close();
    static std::atomic<bool> g_called;
    g_called.store(false);
    Worker worker([=] {
      ::pthread_setcanceltype(type, nullptr);
      gpu().launch(1);
      g_called.store(true);
      for (;;) ::pause();
    });
    worker.await_waiting();
    const unsigned before = gpu().launches();
    ::pthread_cancel(worker.handle());
    // Still at the gate: had it been cancelled there, the launch would never arrive.
    worker.await_waiting();
    NVS_CHECK(gpu().launches() == before);
    gate().open();
    worker.join();
    if (type == PTHREAD_CANCEL_DEFERRED) {
      NVS_CHECK(g_called.load() && gpu().launches() == before + 1);
    }
    gate().close();
    gate().open();
  }
  return ok();
}
int cancel_deferred() { return cancel_at_the_gate(PTHREAD_CANCEL_DEFERRED); }
int cancel_at_once() { return cancel_at_the_gate(PTHREAD_CANCEL_ASYNCHRONOUS); }

// A thread whose last call comes from a destructor waits there as well.
int destructor_at_the_gate() {
  struct LaunchesAtEnd {
    unsigned number = 0;
    ~LaunchesAtEnd() { gpu().launch(number); }
  };
  gate().close();
  std::atomic<pid_t> id{0};
  std::thread thread([&] {
    static thread_local LaunchesAtEnd t_object;
    t_object.number = 7;
    gpu().use(0);
    id.store(::gettid());
  });
  while (id.load() == 0 || !is_asleep(id.load())) std::this_thread::yield();
  NVS_CHECK(gpu().launches() == 0);
  gate().open();
  thread.join();
  NVS_CHECK(gpu().launches() == 1);
  return ok();
}

volatile std::sig_atomic_t g_signals = 0;
void count_signal(int) { g_signals = g_signals + 1; }

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  NVS_CHECK(::sigaction(signal, &action, nullptr) == 0);
}

int signal_at_the_gate() {
  for (const int flags : {SA_RESTART, 0}) {
    handle(SIGUSR1, &count_signal, flags);
    gate().close();
    const unsigned before = gpu().launches();
    Worker worker([] { NVS_DO(gpu().launch(1)); });
    for (int i = 0; i < 20; ++i) {
      worker.await_waiting();
      const int seen = g_signals;
      ::pthread_kill(worker.handle(), SIGUSR1);
      while (g_signals == seen) std::this_thread::yield();
    }
    worker.await_waiting();
    NVS_CHECK(gpu().launches() == before);
    gate().open();
    worker.join();
    NVS_CHECK(gpu().launches() == before + 1);
  }
  return ok();
}

// A handler that calls the driver while its thread stands at the gate waits there too, and both
// calls are made.
int handler_launches_at_the_gate() {
  handle(
      SIGUSR1,
      [](int) {
        g_signals = 1;
        gpu().launch(2);
      },
      SA_RESTART);
  gate().close();
  Worker worker([] { NVS_DO(gpu().launch(1)); });
  worker.await_waiting();
  ::pthread_kill(worker.handle(), SIGUSR1);
  while (g_signals == 0) std::this_thread::yield();
  worker.await_waiting();
  NVS_CHECK(gpu().launches() == 0);
  gate().open();
  worker.join();
  NVS_CHECK(gpu().launches() == 2 && gpu().launched(0) == 2);
  return ok();
}

// Another process stops this one, and lets it go on.
void stop_and_continue() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::kill(parent, SIGSTOP);
    const std::string path = "/proc/" + std::to_string(parent) + "/stat";
    std::string text;
    while (text.find(") T") == std::string::npos) {
      std::ifstream file(path);
      std::getline(file, text);
    }
    ::kill(parent, SIGCONT);
    ::_exit(0);
  }
  int status = -1;
  NVS_CHECK(::waitpid(child, &status, 0) == child && status == 0);
}

int stopped_at_the_gate() {
  gate().close();
  Worker worker([] { NVS_DO(gpu().launch(1)); });
  for (int i = 0; i < 5; ++i) {
    worker.await_waiting();
    stop_and_continue();
  }
  worker.await_waiting();
  NVS_CHECK(gpu().launches() == 0);
  gate().open();
  worker.join();
  return ok();
}

sigjmp_buf g_back;

[[gnu::noinline]] void launch_high_up() { NVS_DO(gpu().launch(2)); }

[[gnu::noinline]] void launch_far_down() {
  // Overwritten, as stacks are in use: what is still there of the call before could be mistaken for
  // a call that goes on.
  volatile char room[4096];
  for (volatile char& byte : room) byte = 1;
  NVS_DO(gpu().launch(3));
  NVS_CHECK(room[0] == room[4095]);
}

// What a jump out of a call leaves behind is gone after the thread's next call, be that made from
// higher up the stack or from further down.
int jump_out(void (*first_call)(), void (*next_call)()) {
  handle(
      SIGUSR1, [](int) { ::siglongjmp(g_back, 1); }, 0);
  gpu().on_launch([](void*) { std::raise(SIGUSR1); }, nullptr);
  if (sigsetjmp(g_back, 1) == 0) {
    first_call();
    give_up("it came back");
  }
  gpu().on_launch(nullptr, nullptr);
  next_call();
  // Whoever closes does not wait for himself, so it is another thread.
  Worker closer([] {
    gate().close();
    gate().open();
  });
  closer.join();
  return ok();
}
int jump_out_then_call_higher_up() { return jump_out(&launch_far_down, &launch_high_up); }
int jump_out_then_call_further_down() { return jump_out(&launch_high_up, &launch_far_down); }

// The handler's stack may lie anywhere, here above that of the thread. Its call is nested, and the
// thread is still inside the outer one afterwards.
int handler_on_another_stack() {
  constexpr std::size_t kStack = std::size_t{1} << 20U;
  auto* const both = static_cast<char*>(
      ::mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  NVS_CHECK(both != MAP_FAILED);
  handle(
      SIGUSR1,
      [](int) {
        gpu().on_launch(nullptr, nullptr);
        NVS_DO(gpu().launch(2));
      },
      SA_ONSTACK);
  gpu().on_launch(
      [](void*) {
        std::raise(SIGUSR1);
        NVS_CHECK(gate().inside() == 1);
      },
      nullptr);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  NVS_CHECK(::pthread_attr_setstack(&attributes, both, kStack) == 0);
  pthread_t thread{};
  const auto body = [](void* argument) -> void* {
    stack_t above{};
    above.ss_sp = static_cast<char*>(argument) + kStack;
    above.ss_size = kStack;
    NVS_CHECK(::sigaltstack(&above, nullptr) == 0);
    gpu().use(0);
    NVS_DO(gpu().launch(1));
    return nullptr;
  };
  NVS_CHECK(::pthread_create(&thread, &attributes, body, both) == 0);
  ::pthread_join(thread, nullptr);
  NVS_CHECK(gpu().launches() == 2);
  return ok();
}

constexpr Case kCases[] = {
    {"exit_inside", exit_inside},
    {"cancel_deferred", cancel_deferred},
    {"cancel_at_once", cancel_at_once},
    {"destructor_at_the_gate", destructor_at_the_gate},
    {"signal_at_the_gate", signal_at_the_gate},
    {"handler_launches_at_the_gate", handler_launches_at_the_gate},
    {"stopped_at_the_gate", stopped_at_the_gate},
    {"jump_out_then_call_higher_up", jump_out_then_call_higher_up},
    {"jump_out_then_call_further_down", jump_out_then_call_further_down},
    {"handler_on_another_stack", handler_on_another_stack},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
