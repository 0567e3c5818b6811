// SPDX-License-Identifier: Apache-2.0
// The counter must be exact, so it counts code whose instructions are known one by one: assembly.
#include "bench/step_counter.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/failure.h"

#if defined(__x86_64__)

extern "C" {
extern const char nvs_callee_begin[];
extern const char nvs_callee_end[];
void nvs_five_nops();
void nvs_plain_call();
void nvs_repeated_string();
void nvs_hooked_call();
void nvs_hooked_twice();
void nvs_hooked_recursion();
void nvs_tail_jump();
void nvs_system_call();
}

// Each function has its two marks; what lies between is counted. The "callee" is what a driver is
// in earnest, and the hook what stands before it: 3 instructions on the way in, 2 on the way out.
asm(R"(
  .pushsection .text
  .p2align 4
nvs_helper:            # outside of the callee, but called by it
  nop
  ret
nvs_callee_begin:
nvs_callee:
  nop
  call nvs_helper
  ret
nvs_recursive_callee:  # calls itself through the hook, two levels deep
  dec %eax
  jz 1f
  call nvs_recursive_hook
1:
  ret
nvs_callee_end:
nvs_hook:
  nop
  nop
  call nvs_callee
  nop
  ret
nvs_recursive_hook:
  call nvs_recursive_callee
  nop
  ret
nvs_jump:
  nop
  jmp nvs_callee

  .globl nvs_callee_begin, nvs_callee_end, nvs_five_nops, nvs_plain_call, nvs_repeated_string
  .globl nvs_hooked_call, nvs_hooked_twice, nvs_hooked_recursion, nvs_tail_jump, nvs_system_call
nvs_five_nops:
  int3
  nop
  nop
  nop
  nop
  nop
  int3
  ret
nvs_plain_call:
  int3
  call nvs_helper
  int3
  ret
nvs_repeated_string:
  sub $64, %rsp
  mov %rsp, %rdi
  mov $50, %ecx
  xor %eax, %eax
  int3
  rep stosb
  int3
  add $64, %rsp
  ret
nvs_hooked_call:
  int3
  call nvs_hook
  int3
  ret
nvs_hooked_twice:
  int3
  call nvs_hook
  call nvs_hook
  int3
  ret
nvs_hooked_recursion:
  mov $2, %eax
  int3
  call nvs_recursive_hook
  int3
  ret
nvs_tail_jump:
  int3
  call nvs_jump
  int3
  ret
nvs_system_call:
  mov $39, %eax        # getpid
  int3
  syscall
  int3
  ret
  .popsection
)");

namespace nvs::bench {
namespace {

using Function = void (*)();

volatile sig_atomic_t signals = 0;
void count_signal(int) { signals = signals + 1; }
void raise_signal() { ::raise(SIGUSR1); }

const std::vector<CodeRange> kCallee = {{reinterpret_cast<std::uint64_t>(nvs_callee_begin),
                                         reinterpret_cast<std::uint64_t>(nvs_callee_end)}};

// A child that waits until it is traced, calls functions one after the other and ends.
class Traced {
 public:
  explicit Traced(const std::vector<Function>& functions) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw Failure("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      char go = 0;
      ::signal(SIGUSR1, count_signal);
      if (::read(ends[0], &go, 1) == 1) {
        for (const Function function : functions) function();
      }
      ::_exit(signals);
    }
    counter_ = std::make_unique<StepCounter>(pid_);
    if (::write(ends[1], "g", 1) != 1) throw Failure("write");
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Traced() {
    counter_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  StepCounter& counter() { return *counter_; }
  // How the process ended, after the counter let go of it.
  int status() {
    counter_.reset();
    int result = -1;
    ::waitpid(pid_, &result, 0);
    return result;
  }

 private:
  pid_t pid_ = -1;
  std::unique_ptr<StepCounter> counter_;
};

StepCount count(Function function, const std::vector<CodeRange>& callee = kCallee) {
  return Traced({function}).counter().next(callee).value();
}

TEST(StepCounter, CountsEveryInstructionBetweenTheMarks) {
  EXPECT_EQ(count(nvs_five_nops), (StepCount{5, 0}));
  EXPECT_EQ(count(nvs_plain_call), (StepCount{3, 0})) << "call, nop, ret";
}

TEST(StepCounter, ARepeatedInstructionIsOne) {
  EXPECT_EQ(count(nvs_repeated_string), (StepCount{1, 0}));
}

TEST(StepCounter, LeavesOutTheCalleeAndWhatItCalls) {
  EXPECT_EQ(count(nvs_hooked_call), (StepCount{6, 1})) << "call; nop, nop, call; nop, ret";
  EXPECT_EQ(count(nvs_hooked_twice), (StepCount{12, 2}));
  EXPECT_EQ(count(nvs_hooked_call, {}), (StepCount{11, 0})) << "without a callee all of it counts";
}

TEST(StepCounter, AHookThatOnlyJumpsReturnsToTheProgram) {
  EXPECT_EQ(count(nvs_tail_jump), (StepCount{3, 1})) << "call; nop, jmp";
}

TEST(StepCounter, ACalleeThatCallsItselfThroughTheHookIsEnteredOnce) {
  EXPECT_EQ(count(nvs_hooked_recursion), (StepCount{4, 1})) << "call; call; nop, ret";
}

TEST(StepCounter, ASystemCallIsOne) { EXPECT_EQ(count(nvs_system_call), (StepCount{1, 0})); }

TEST(StepCounter, PassesSignalsOn) {
  Traced process({nvs_five_nops, raise_signal, nvs_five_nops});
  EXPECT_EQ(process.counter().next(kCallee), (StepCount{5, 0}));
  EXPECT_EQ(process.counter().next(kCallee), (StepCount{5, 0}));
  EXPECT_EQ(WEXITSTATUS(process.status()), 1) << "how many signals it got";
}

TEST(StepCounter, GoesFromPairToPairAndSaysWhenTheProcessEnded) {
  Traced process({nvs_five_nops, nvs_hooked_call, nvs_five_nops});
  EXPECT_EQ(process.counter().next(kCallee), (StepCount{5, 0}));
  EXPECT_EQ(process.counter().next(kCallee), (StepCount{6, 1}));
  EXPECT_EQ(process.counter().next(kCallee), (StepCount{5, 0}));
  EXPECT_FALSE(process.counter().next(kCallee));
}

TEST(StepCounter, LetsTheProcessRunOnWithItsCodeAsItWas) {
  Traced process({nvs_hooked_recursion});
  EXPECT_TRUE(process.counter().next(kCallee));
  EXPECT_EQ(process.status(), 0);
}

TEST(StepCounter, ProcessesThatCannotBeTracedAreFailures) {
  EXPECT_THROW(StepCounter(::getpid()), Failure);
}

}  // namespace
}  // namespace nvs::bench

#endif
