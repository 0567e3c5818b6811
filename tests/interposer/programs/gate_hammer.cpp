// SPDX-License-Identifier: Apache-2.0
// The invariant of the gate: from the moment that closing it has returned until it is opened, no
// thread is inside a submission, whatever threads do. Prints "ok", or what did not hold.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/interposer/programs/gate_kit.h"

namespace nvs::program {
namespace {

constexpr unsigned kThreads = 8;

struct Hammer {
  std::atomic<bool> end{false};
  std::atomic<unsigned> started{0};
  std::atomic<unsigned long> calls{0};
};

// Launches and copies, some of them nested, without a pause.
void hammer(Hammer& all) {
  auto* const copy = NVS_FIND(cuMemcpyHtoD_v2);
  all.started.fetch_add(1);
  for (unsigned long i = 0; !all.end.load(); ++i) {
    const int byte = 0;
    NVS_DO(i % 3 == 0 ? copy(4096, &byte, 1) : gpu().launch(1));
    all.calls.fetch_add(1);
  }
}

void close_and_open(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    gate().close();
    const unsigned before = gpu().launches();
    for (int look = 0; look < 50; ++look) NVS_CHECK(gpu().inside() == 0);
    NVS_CHECK(gpu().launches() == before);
    gate().open();
  }
}

int run(int rounds) {
  // Now and then a launch calls back into the driver.
  gpu().on_launch(
      [](void*) {
        static thread_local unsigned t_calls = 0;
        if (++t_calls % 7 == 0) NVS_DO(gpu().launch(2));
      },
      nullptr);
  Hammer all;
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < kThreads; ++i) {
    workers.push_back(std::make_unique<Worker>([&all] { hammer(all); }));
  }
  while (all.started.load() != kThreads) std::this_thread::yield();
  // Both sides get on: the threads between the rounds, and the closer against all of them.
  for (int part = 0; part < 20; ++part) {
    const unsigned long before = all.calls.load();
    while (all.calls.load() < before + 20) std::this_thread::yield();
    close_and_open(rounds / 20);
  }
  all.end.store(true);
  for (const auto& worker : workers) worker->join();
  NVS_CHECK(gate().inside() == 0);
  std::puts("ok");
  return 0;
}

int with_membarrier() { return run(2000); }

// As in containers whose filter does not know the call.
void forbid_membarrier() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = sizeof code / sizeof code[0], .filter = code};
  NVS_CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  NVS_CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  NVS_CHECK(::syscall(SYS_membarrier, 0, 0, 0) == -1);
}

int without_membarrier() {
  forbid_membarrier();
  return run(2000);
}

// One thread against the closer, with so many stores to far memory before each call that its mark
// stays in the processor for long after it has seen the gate open. Without a barrier on either side
// the closer would not see it.
int run_slow_stores() {
  constexpr std::size_t kFar = std::size_t{64} << 20U;
  std::vector<std::uint64_t> far(kFar / sizeof(std::uint64_t));
  Hammer all;
  Worker worker([&] {
    std::uint64_t random = 88172645463325252ULL;
    all.started.fetch_add(1);
    while (!all.end.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 48; ++i) {
        random ^= random << 13U;
        random ^= random >> 7U;
        random ^= random << 17U;
        far[random % far.size()] = random;
      }
      NVS_DO(gpu().launch(1));
      all.calls.fetch_add(1, std::memory_order_relaxed);
    }
  });
  while (all.started.load() == 0) std::this_thread::yield();
  for (int round = 0; round < 3'000; ++round) {
    const unsigned long before = all.calls.load(std::memory_order_relaxed);
    // Both on a processor is where the race is; where there is but one, it has to be given away.
    for (int spin = 0; all.calls.load(std::memory_order_relaxed) == before; ++spin) {
      if (spin > 10'000) std::this_thread::yield();
    }
    gate().close();
    const unsigned launches = gpu().launches();
    for (int look = 0; look < 200; ++look) NVS_CHECK(gpu().inside() == 0);
    NVS_CHECK(gpu().launches() == launches);
    gate().open();
  }
  all.end.store(true);
  worker.join();
  std::puts("ok");
  return 0;
}
int slow_stores_with_membarrier() { return run_slow_stores(); }
int slow_stores_without_membarrier() {
  forbid_membarrier();
  return run_slow_stores();
}

// Threads come and go all the while: every call is a thread's first.
int with_new_threads() {
  std::atomic<bool> end{false};
  std::vector<std::unique_ptr<Worker>> makers;
  for (unsigned i = 0; i < 4; ++i) {
    makers.push_back(std::make_unique<Worker>([&end] {
      while (!end.load()) {
        std::thread([] {
          gpu().use(0);
          NVS_DO(gpu().launch(1));
        }).join();
      }
    }));
  }
  for (int part = 0; part < 100; ++part) {
    const unsigned before = gpu().launches();
    while (gpu().launches() < before + 10) std::this_thread::yield();
    close_and_open(5);
  }
  end.store(true);
  for (const auto& maker : makers) maker->join();
  std::puts("ok");
  return 0;
}

// So many threads hold on to the library that the last ones share what is left.
int with_a_crowd() {
  constexpr unsigned kIdle = 4200;
  std::atomic<bool> go{false};
  std::atomic<unsigned> there{0};
  struct Shared {
    std::atomic<bool>* go;
    std::atomic<unsigned>* there;
  } shared{&go, &there};
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{64} << 10U);
  std::vector<pthread_t> threads;
  gpu();
  while (threads.size() < kIdle) {
    pthread_t thread{};
    const auto body = [](void* argument) -> void* {
      auto& all = *static_cast<Shared*>(argument);
      gpu().use(0);
      NVS_DO(gpu().launch(1));
      all.there->fetch_add(1);
      all.go->wait(false);
      return nullptr;
    };
    if (::pthread_create(&thread, &attributes, body, &shared) != 0) break;
    threads.push_back(thread);
  }
  while (there.load() != threads.size()) ::usleep(1000);
  const int result = run(100);
  go.store(true);
  go.notify_all();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  return result;
}

constexpr Case kCases[] = {
    {"with_membarrier", with_membarrier},
    {"without_membarrier", without_membarrier},
    {"slow_stores_with_membarrier", slow_stores_with_membarrier},
    {"slow_stores_without_membarrier", slow_stores_without_membarrier},
    {"with_new_threads", with_new_threads},
    {"with_a_crowd", with_a_crowd},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
