// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/failure.h"
#include "bench/options.h"

namespace nvs::bench {
namespace {

constexpr std::int64_t kNoDeadline = -1;
constexpr double kFarewellSeconds = 5;

std::int64_t in_seconds(double seconds) { return now_ns() + nanoseconds(seconds); }

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Failure(fmt::format("pipe: {}", std::strerror(errno)));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The environment of this process with some variables replaced or added.
std::vector<std::string> environment_with(const Child::Environment& extra) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (extra.count(text.substr(0, text.find('='))) == 0) result.push_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string describe_exit(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? fmt::format("ended with exit code {}", info.si_status)
                                    : fmt::format("was killed by signal {}", info.si_status);
}

// WNOWAIT leaves the entry for the destructor, so that the pid cannot be reused before.
siginfo_t end_of(pid_t pid, int flags) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | flags);
  return info;
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

void sleep_until_ns(std::int64_t at_ns) {
  const timespec until{at_ns / 1'000'000'000, at_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::optional<nlohmann::json> LineReader::next(std::int64_t deadline_ns) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
      if (value.is_discarded()) throw Failure("what it sent is not JSON: " + line);
      return value;
    }
    int wait_ms = -1;
    if (deadline_ns >= 0) {
      wait_ms = static_cast<int>(std::max<std::int64_t>(0, (deadline_ns - now_ns()) / 1'000'000));
    }
    pollfd item{fd_, POLLIN, 0};
    const int ready = ::poll(&item, 1, wait_ms);
    if (ready == 0) throw Failure("it did not answer in time");
    if (ready < 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(fd_, bytes.data(), bytes.size());
    if (count == 0) return std::nullopt;
    if (count > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

bool write_line(int fd, const nlohmann::json& value) {
  const std::string line = value.dump() + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = ::write(fd, line.data() + sent, line.size() - sent);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return true;
}

Child::Child(std::string name, const std::string& role, const nlohmann::json& config,
             const Environment& extra, const std::string& program)
    : name_(std::move(name)) {
  spawn(role, extra, program);
  reader_.emplace(from_child_.get());
  send(config);
}

void Child::spawn(const std::string& role, const Environment& extra, const std::string& program) {
  Pipe commands = make_pipe();
  Pipe results = make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands.read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, results.write.get(), ParentLink::kResultFd);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::vector<std::string> arguments = {"nvshare-bench", "--child", role};
  std::vector<std::string> environment = environment_with(extra);
  const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    throw Failure(fmt::format("{} could not be started: {}", name_, std::strerror(failed)));
  }
  to_child_ = std::move(commands.write);
  from_child_ = std::move(results.read);
}

Child::~Child() {
  // The end of its input is the signal to leave. A child that hangs in the driver is killed.
  to_child_.reset();
  const std::int64_t deadline = in_seconds(kFarewellSeconds);
  try {
    while (reader_->next(deadline)) {
    }
  } catch (const Failure&) {
    ::kill(pid_, SIGKILL);
  }
  ::waitpid(pid_, nullptr, 0);
}

void Child::send(const nlohmann::json& message) {
  // A child that is gone is found by the next `receive`, which knows why.
  write_line(to_child_.get(), message);
}

std::optional<nlohmann::json> Child::next_message(double timeout_s) {
  std::optional<nlohmann::json> message;
  try {
    message = reader_->next(in_seconds(timeout_s));
  } catch (const Failure& failure) {
    throw Failure(fmt::format("{}: {}", name_, failure.what()));
  }
  if (message && message->contains("error")) {
    throw Failure(fmt::format("{}: {}", name_, (*message)["error"].get<std::string>()));
  }
  return message;
}

nlohmann::json Child::receive(double timeout_s) {
  std::optional<nlohmann::json> message = next_message(timeout_s);
  if (!message) throw Failure(fmt::format("{} {}", name_, describe_exit(end_of(pid_, 0))));
  return *std::move(message);
}

bool Child::exited() const { return end_of(pid_, WNOHANG).si_pid != 0; }

int Child::wait_for_end(double timeout_s) {
  while (next_message(timeout_s)) {
  }
  const siginfo_t info = end_of(pid_, 0);
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

ParentLink::ParentLink() : reader_(STDIN_FILENO) {}

std::optional<nlohmann::json> ParentLink::next() { return reader_.next(kNoDeadline); }

void ParentLink::send(const nlohmann::json& message) { write_line(kResultFd, message); }

int child_main(const std::vector<Role>& roles, const std::string& role) {
  // Without this, a benchmark that is killed would leave tenants behind that load the GPU.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto found =
      std::find_if(roles.begin(), roles.end(), [&](const Role& item) { return role == item.name; });
  const auto refuse = [] {
    fmt::print(stderr, "nvshare-bench: --child is for the benchmark's own processes\n");
    return kExitBadInput;
  };
  if (found == roles.end() || ::fcntl(ParentLink::kResultFd, F_GETFD) < 0) return refuse();
  ParentLink parent;
  try {
    const std::optional<nlohmann::json> config = parent.next();
    if (!config) return refuse();  // a parent says first what it wants
    found->run(parent, *config);
    return kExitOk;
  } catch (const std::exception& error) {
    parent.send({{"error", error.what()}});
    return kExitFailed;
  }
}

}  // namespace nvs::bench
