// SPDX-License-Identifier: Apache-2.0
#include "bench/step_counter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "bench/failure.h"

namespace nvs::bench {

#if defined(__x86_64__)

namespace {

constexpr std::uint64_t kBreakpoint = 0xCC;
constexpr std::uint64_t kByte = 0xFF;

Failure refused(const char* what) {
  return Failure(fmt::format("counting instructions: {}: {}", what, std::strerror(errno)));
}

user_regs_struct registers(pid_t pid) {
  user_regs_struct values{};
  if (::ptrace(PTRACE_GETREGS, pid, nullptr, &values) != 0) throw refused("PTRACE_GETREGS");
  return values;
}

void set_instruction_pointer(pid_t pid, std::uint64_t address) {
  user_regs_struct values = registers(pid);
  values.rip = address;
  if (::ptrace(PTRACE_SETREGS, pid, nullptr, &values) != 0) throw refused("PTRACE_SETREGS");
}

}  // namespace

StepCounter::StepCounter(pid_t pid) : pid_(pid) {
  if (::ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) == 0) return;
  throw Failure(
      fmt::format("process {} cannot be traced, so instructions cannot be counted: {} (does a "
                  "container's profile or kernel.yama.ptrace_scope forbid ptrace?)",
                  pid_, std::strerror(errno)));
}

StepCounter::~StepCounter() {
  if (ended_) return;
  if (!stopped_) {
    ::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
  }
  ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

// The thread runs before its first mark, and there it need only be waited for. Signals that arrive
// meanwhile are the program's business and are passed on.
StepCounter::Stop StepCounter::resume(int request) {
  std::uintptr_t signal = 0;
  for (;;) {
    if (stopped_ && ::ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, signal) != 0) {
      throw refused("resuming");
    }
    stopped_ = false;
    // A process that ended is left for its owner to collect.
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) !=
           0) {
      if (errno != EINTR) throw refused("waitid");
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
      ended_ = true;
      return Stop::kEnded;
    }
    int status = 0;
    if (::waitpid(pid_, &status, __WALL) != pid_) throw refused("waitpid");
    stopped_ = true;
    const bool of_ptrace = (status >> 16) != 0;
    if (of_ptrace || WSTOPSIG(status) != SIGTRAP) {
      signal = of_ptrace ? 0 : static_cast<std::uintptr_t>(WSTOPSIG(status));
      continue;
    }
    if (::ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info) != 0) throw refused("PTRACE_GETSIGINFO");
    // The system names a step TRAP_TRACE, and TRAP_BRKPT where the step was a system call.
    return info.si_code == SI_KERNEL ? Stop::kMark : Stop::kStep;
  }
}

// A repeated string instruction stops once an iteration and is one instruction all the same.
StepCounter::Stop StepCounter::step() {
  const std::uint64_t start = registers(pid_).rip;
  Stop stop = Stop::kStep;
  do {
    stop = resume(PTRACE_SINGLESTEP);
  } while (stop == Stop::kStep && registers(pid_).rip == start);
  return stop;
}

std::uint64_t StepCounter::read_word(std::uint64_t address) const {
  errno = 0;
  const long word = ::ptrace(PTRACE_PEEKDATA, pid_, address, nullptr);
  if (errno != 0) throw refused("PTRACE_PEEKDATA");
  return static_cast<std::uint64_t>(word);
}

void StepCounter::write_word(std::uint64_t address, std::uint64_t word) const {
  if (::ptrace(PTRACE_POKEDATA, pid_, address, word) != 0) throw refused("PTRACE_POKEDATA");
}

// The thread is at the first instruction of a function; ends where that was called. The function
// may well call itself by the same way, and return to the same place with the stack less high.
StepCounter::Stop StepCounter::run_to_return(std::uint64_t stack_pointer) {
  const std::uint64_t back = read_word(stack_pointer);
  const std::uint64_t code = read_word(back);
  for (;;) {
    write_word(back, (code & ~kByte) | kBreakpoint);
    const Stop stop = resume(PTRACE_CONT);
    if (stop == Stop::kEnded) return stop;
    const user_regs_struct at = registers(pid_);
    if (stop != Stop::kMark || at.rip != back + 1) {
      throw Failure("counting instructions: the function that was called has a mark of its own");
    }
    write_word(back, code);
    set_instruction_pointer(pid_, back);
    if (at.rsp > stack_pointer) return Stop::kStep;
    if (resume(PTRACE_SINGLESTEP) == Stop::kEnded) return Stop::kEnded;
  }
}

std::optional<StepCount> StepCounter::next(const std::vector<CodeRange>& callee) {
  if (resume(PTRACE_CONT) == Stop::kEnded) return std::nullopt;
  StepCount count;
  for (;;) {
    const user_regs_struct at = registers(pid_);
    const bool inside = std::any_of(callee.begin(), callee.end(),
                                    [&](const CodeRange& range) { return range.contains(at.rip); });
    const Stop stop = inside ? run_to_return(at.rsp) : step();
    if (stop == Stop::kEnded) return std::nullopt;
    if (stop == Stop::kMark) return count;
    ++(inside ? count.entries : count.steps);
  }
}

#else

StepCounter::StepCounter(pid_t pid) : pid_(pid) {
  throw Failure("instructions can be counted on x86-64 only");
}

StepCounter::~StepCounter() = default;

std::optional<StepCount> StepCounter::next(const std::vector<CodeRange>&) { return std::nullopt; }

#endif

}  // namespace nvs::bench
