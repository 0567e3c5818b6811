// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/runner.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace nvs::conformance {
namespace {

constexpr int kSilenceMaxMs = 20'000;
// Prefix of the lines by which a child says which step it has come to.
constexpr std::string_view kStepMark = "@step ";

pid_t spawn(const std::string& self, std::vector<std::string> arguments, int stdout_fd) {
  std::vector<char*> argv{const_cast<char*>(self.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (stdout_fd != STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, stdout_fd, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, self.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

// How the child ended, in the words of the transcript; empty when all was well.
std::string ending(pid_t pid, bool hung) {
  int status = 0;
  if (hung) ::kill(pid, SIGKILL);
  if (::waitpid(pid, &status, 0) != pid) return "lost";
  if (hung) return "hung";
  if (WIFSIGNALED(status)) return cat("crashed: signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return cat("exited: status ", WEXITSTATUS(status));
  return "";
}

struct Child {
  std::string at_step;  // the last step it came to
  std::string ended;    // see ending()
};

Child run_child(const std::string& self, std::vector<std::string> arguments, const LineSink& sink) {
  std::array<int, 2> pipe_fds{};
  if (::pipe2(pipe_fds.data(), O_CLOEXEC) != 0) return {"", "no pipe"};
  const pid_t pid = spawn(self, std::move(arguments), pipe_fds[1]);
  ::close(pipe_fds[1]);
  if (pid < 0) {
    ::close(pipe_fds[0]);
    return {"", "not started"};
  }
  Child child;
  std::string text;
  bool hung = false;
  for (std::array<char, 4096> buffer{};;) {
    pollfd readable{pipe_fds[0], POLLIN, 0};
    if (::poll(&readable, 1, kSilenceMaxMs) <= 0) {
      hung = true;
      break;
    }
    const ssize_t n = ::read(pipe_fds[0], buffer.data(), buffer.size());
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      if (line.starts_with(kStepMark)) {
        child.at_step = line.substr(kStepMark.size());
      } else {
        sink(line);
      }
    }
  }
  ::close(pipe_fds[0]);
  child.ended = ending(pid, hung);
  return child;
}

std::size_t index_of(const Section& section, std::string_view step) {
  for (std::size_t i = 0; i < section.steps.size(); ++i)
    if (section.steps[i].name == step) return i;
  return section.steps.size();
}

// The index after the shared steps that one child runs when it starts with `first`.
std::size_t end_of_shared(const Section& section, std::size_t first) {
  while (first < section.steps.size() && section.steps[first].process == Process::kShared) ++first;
  return first;
}

void prepare(Run& run, Start start) {
  if (start == Start::kNothing) return;
  SETUP(cuInit, 0);
  if (start == Start::kInit) return;
  CUdevice device = 0;
  CUcontext context = nullptr;
  SETUP(cuDeviceGet, &device, 0);
  SETUP(cuDevicePrimaryCtxRetain, &context, device);
  SETUP(cuCtxSetCurrent, context);
}

void run_step(Run& run, const Section& section, const Step& step) {
  run.begin(section.name, step.name);
  try {
    prepare(run, section.start);
    step.body(run);
  } catch (const StepStopped&) {
    // The line that says so has been written.
  }
}

void (*late_exit_function)() = nullptr;

void late_exit() {
  if (late_exit_function != nullptr) late_exit_function();
}

}  // namespace

void run_section(const std::string& self, const Section& section, const LineSink& sink) {
  for (std::size_t i = 0; i < section.steps.size();) {
    const Step& step = section.steps[i];
    if (step.process == Process::kHidden) {
      ++i;
      continue;
    }
    const Child child = run_child(self, {"--child", section.name, step.name}, sink);
    const std::size_t after = step.process == Process::kShared ? end_of_shared(section, i) : i + 1;
    if (child.ended.empty()) {
      i = after;
      continue;
    }
    const std::string at = child.at_step.empty() ? step.name : child.at_step;
    sink(cat(section.name, "/", at, ": process -> ", child.ended));
    i = std::max(i, std::min(index_of(section, at), after - 1)) + 1;
  }
}

int child_main(int argc, char** argv) {
  std::atexit(late_exit);
  const std::string section_name = argc > 2 ? argv[2] : "";
  const std::string first_step = argc > 3 ? argv[3] : "";
  auto driver = Driver::load();
  if (!driver) {
    std::fprintf(stderr, "nvshare-conformance: %s\n", driver.error().c_str());
    return 2;
  }
  // Neither is ever destroyed: exit handlers use them.
  static Run& run = *new Run(*new Driver(std::move(*driver)), argv[0], argc > 4 ? argv[4] : "");
  for (const Section& section : all_sections()) {
    if (section.name != section_name) continue;
    const std::size_t first = index_of(section, first_step);
    if (first == section.steps.size()) break;
    const bool alone = section.steps[first].process != Process::kShared;
    const std::size_t end = alone ? first + 1 : end_of_shared(section, first);
    for (std::size_t i = first; i < end; ++i) {
      const Step& step = section.steps[i];
      if (step.process != Process::kHidden) {
        const std::string mark = cat(kStepMark, step.name, "\n");
        if (::write(STDOUT_FILENO, mark.data(), mark.size()) < 0) return 4;
      }
      run_step(run, section, step);
    }
    return 0;
  }
  std::fprintf(stderr, "nvshare-conformance: no step %s/%s\n", section_name.c_str(),
               first_step.c_str());
  return 2;
}

void run_hidden_step(Run& run, const char* section, const char* step, const std::string& argument) {
  const pid_t pid = spawn(run.self(), {"--child", section, step, argument}, STDOUT_FILENO);
  const std::string ended = pid < 0 ? "not started" : ending(pid, false);
  if (!ended.empty()) run.line(cat("process ", step), ended);
}

void at_late_exit(void (*function)()) { late_exit_function = function; }

}  // namespace nvs::conformance
