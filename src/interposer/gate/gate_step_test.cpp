// SPDX-License-Identifier: Apache-2.0
// The gate, interleaved by design and not by luck: a thread goes through a hook one instruction at
// a time, and after each of them somebody closes the gate. Only for x86-64, and not under
// sanitizers, which take signals for themselves.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#include <atomic>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "interposer/gate/test_gate.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr int kNever = -1;
// The fake driver's own: it counts who is inside.
constexpr int kFencesOfTheDriver = 1;

struct Steps {
  std::atomic<bool> on{false};
  std::atomic<int> count{0};
  std::atomic<int> pause_at{kNever};
  std::atomic<bool> paused{false};
  std::atomic<int> fences{0};  // executed while nobody is inside the driver
};
Steps steps;

bool is_fence(const unsigned char* code) {
  const bool mfence = code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf0;
  return code[0] == 0xf0 || mfence;
}

void after_each_instruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (!steps.on) {
    registers[REG_EFL] &= ~kTrapFlag;
    return;
  }
  const auto* next = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  if (fake.inside == 0 && is_fence(next)) ++steps.fences;
  if (++steps.count != steps.pause_at) return;
  steps.paused = true;
  while (steps.paused) std::this_thread::yield();
}

void step_from_here_on() {
  steps.on = true;
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

// A thread that makes one launch step by step. It is marked before, so that it knows its slot.
class SteppedLaunch {
 public:
  explicit SteppedLaunch(int pause_at) {
    steps.count = 0;
    steps.pause_at = pause_at;
    steps.paused = false;
    steps.fences = 0;
    thread_ = std::thread([this] {
      launch();
      launches_before_ = fake.launches;
      id_ = os::thread_id();
      while (!go_) std::this_thread::yield();
      step_from_here_on();
      launch();
      steps.on = false;
      done_ = true;
    });
    while (id_ == 0) std::this_thread::yield();
  }
  ~SteppedLaunch() {
    steps.paused = false;
    thread_.join();
  }
  void go() { go_ = true; }
  bool done() const { return done_; }
  int launches() const { return fake.launches - launches_before_; }
  // False: it was done before it came to the pause.
  bool wait_for_pause() const {
    while (!steps.paused) {
      if (done_) return false;
      std::this_thread::yield();
    }
    return true;
  }
  void resume() { steps.paused = false; }
  void wait_until_asleep() const { interposer::wait_until_asleep(id_); }
  void wait_until_asleep_or_done() const {
    while (!done_ && !is_asleep(id_)) std::this_thread::yield();
  }

 private:
  std::atomic<int> id_{0};
  std::atomic<bool> go_{false};
  std::atomic<bool> done_{false};
  int launches_before_ = 0;
  std::thread thread_;
};

class GateStepTest : public GateTest {
 protected:
  void SetUp() override {
    GateTest::SetUp();
    struct sigaction action = {};
    action.sa_sigaction = &after_each_instruction;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
  }

  // The thread stands still somewhere in the hook. Whatever closing says must be true.
  static void close_upon(SteppedLaunch& thread) {
    constexpr std::int64_t kShort_ns = 300'000;
    const bool closed = gate::close(0, kShort_ns);
    const int launches = thread.launches();
    const bool inside = fake.inside != 0;
    thread.resume();
    if (!closed) return;
    EXPECT_FALSE(inside);
    thread.wait_until_asleep_or_done();
    EXPECT_EQ(thread.launches(), launches) << "entered a closed gate";
    gate::open(0);
  }
};

TEST_F(GateStepTest, ClosingIsTrueAtEveryInstructionOfACall) {
  int at = 1;
  for (;; ++at) {
    SteppedLaunch thread(at);
    thread.go();
    if (!thread.wait_for_pause()) break;
    close_upon(thread);
  }
  EXPECT_GT(at, 20);
}

TEST_F(GateStepTest, ClosingIsTrueAtEveryInstructionAfterAWait) {
  int after = 1;
  for (bool more = true; more; ++after) {
    SteppedLaunch thread(kNever);
    ASSERT_TRUE(gate::close(0, kNoLimit));
    thread.go();
    thread.wait_until_asleep();
    steps.pause_at = steps.count + after;
    gate::open(0);
    more = thread.wait_for_pause();
    if (more) close_upon(thread);
  }
  EXPECT_GT(after, 20);
}

TEST_F(GateStepTest, TheOpenPathHasNoFence) {
  {
    SteppedLaunch thread(kNever);
    thread.go();
    thread.wait_until_asleep_or_done();
  }
  EXPECT_GT(steps.count, 20);
  EXPECT_EQ(steps.fences, kFencesOfTheDriver);
}

TEST_F(GateStepTest, ItHasOneWhereMembarrierIsForbidden) {
  EXPECT_EQ(in_child([] {
              forbid_membarrier(Membarrier::refused);
              SteppedLaunch thread(kNever);
              thread.go();
              thread.wait_until_asleep_or_done();
              EXPECT_GT(steps.fences, kFencesOfTheDriver);
            }),
            0);
}

std::vector<greg_t>* membarriers = nullptr;

void record_membarrier(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  membarriers->push_back(registers[REG_RDI]);
  registers[REG_RAX] = 0;
}

TEST_F(GateStepTest, TheCloserPaysForTheBarrier) {
  EXPECT_EQ(in_child([] {
              std::vector<greg_t> seen;
              membarriers = &seen;
              struct sigaction action = {};
              action.sa_sigaction = &record_membarrier;
              action.sa_flags = SA_SIGINFO;
              sigaction(SIGSYS, &action, nullptr);
              forbid_membarrier(Membarrier::trapped);
              const std::vector<greg_t> once = {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED};
              launch();
              EXPECT_EQ(seen, once);
              launch();
              EXPECT_EQ(seen, once);
              EXPECT_TRUE(gate::close(0, kNoLimit));
              EXPECT_EQ(seen.size(), 2U);
              EXPECT_EQ(seen.back(), MEMBARRIER_CMD_PRIVATE_EXPEDITED);
              gate::open(0);
              EXPECT_EQ(seen.size(), 2U);
            }),
            0);
}

}  // namespace
}  // namespace nvs::interposer
#endif
