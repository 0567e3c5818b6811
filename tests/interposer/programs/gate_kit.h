// SPDX-License-Identifier: Apache-2.0
// The gate as a test closes it, and ways to see where threads stand without asking a clock: a
// thread that has nothing to wait for but the gate, and sleeps, stands at the gate.
#pragma once

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "interposer/test_api.h"
#include "tests/interposer/programs/launcher.h"

namespace nvs::program {

inline void check(bool holds, const char* condition) {
  if (!holds) give_up(condition);
}
#define NVS_CHECK(condition) ::nvs::program::check((condition), #condition)

/// Long enough for any machine; only a broken library waits for it.
inline constexpr long kPatienceMs = 30'000;

struct Gate {
  decltype(&nvshare_test_gate_close) close_gpu =
      find<decltype(nvshare_test_gate_close)>("nvshare_test_gate_close", RTLD_DEFAULT);
  decltype(&nvshare_test_gate_open) open_gpu =
      find<decltype(nvshare_test_gate_open)>("nvshare_test_gate_open", RTLD_DEFAULT);
  decltype(&nvshare_test_inside) inside =
      find<decltype(nvshare_test_inside)>("nvshare_test_inside", RTLD_DEFAULT);

  void close(int gpu = 0) const { NVS_CHECK(close_gpu(gpu, kPatienceMs) == 0); }
  void open(int gpu = 0) const { open_gpu(gpu); }
};
inline const Gate& gate() {
  static const Gate the_gate;
  return the_gate;
}

/// Whether a thread of this process sleeps.
inline bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'S';
}

/// A thread with a context that runs its body, and of which one can see that it waits.
class Worker {
 public:
  template <class Body>
  explicit Worker(Body body, int device = 0)
      : thread_([this, body, device] {
          gpu().use(device);
          id_.store(::gettid());
          body();
          done_.store(true);
        }) {}

  void await_waiting() const {
    while (id_.load() == 0 || !is_asleep(id_.load())) {
      NVS_CHECK(!done_.load());
      std::this_thread::yield();
    }
  }
  bool is_done() const { return done_.load(); }
  void join() { thread_.join(); }
  pthread_t handle() { return thread_.native_handle(); }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

/// Holds launches inside the driver until they are let go.
class Hold {
 public:
  Hold() { gpu().on_launch(&Hold::stay, this); }
  void await_inside(int threads) const {
    while (inside_.load() != threads) std::this_thread::yield();
  }
  /// Later launches are not held.
  void only_these() const { gpu().on_launch(nullptr, nullptr); }
  void let_go() { go_.store(true); }

 private:
  static void stay(void* argument) {
    auto& self = *static_cast<Hold*>(argument);
    self.inside_.fetch_add(1);
    while (!self.go_.load()) std::this_thread::yield();
  }
  std::atomic<int> inside_{0};
  std::atomic<bool> go_{false};
};

}  // namespace nvs::program
