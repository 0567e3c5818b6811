// SPDX-License-Identifier: Apache-2.0
#include "workloads/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nvs::workloads {
namespace {

constexpr int kExecFailed = 127;

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('=') + 1);
}

// Our environment with `added` in place of variables of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> result = added;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool replaced = false;
    for (const std::string& other : added) replaced |= name_of(other) == name_of(*variable);
    if (!replaced) result.emplace_back(*variable);
  }
  return result;
}

// Between fork and exec only calls that are safe in a signal handler are allowed: another thread of
// the parent may have held any lock.
[[noreturn]] void become(char* const* command, char* const* environment, int status, int output,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // All three may lie where they or the others are to go, so they are moved out of the way first.
  const int safe_status = ::fcntl(status, F_DUPFD_CLOEXEC, kChildStatusFd + 1);
  const int safe_output = ::fcntl(output, F_DUPFD_CLOEXEC, kChildStatusFd + 1);
  ::dup2(input, STDIN_FILENO);
  ::dup2(safe_output, STDOUT_FILENO);
  ::dup2(safe_output, STDERR_FILENO);
  ::dup2(safe_status, kChildStatusFd);
  ::execve(command[0], command, environment);
  constexpr std::string_view kMessage = "cannot execute ";
  // Nobody can be told that it could not be said.
  static_cast<void>(::write(STDERR_FILENO, kMessage.data(), kMessage.size()) &&
                    ::write(STDERR_FILENO, command[0], ::strlen(command[0])));
  ::_exit(kExecFailed);
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& command,
                           const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return tl::unexpected(Error::from_errno(errno, "socketpair"));
  }
  UniqueFd status{ends[0]};
  const UniqueFd child_status{ends[1]};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(Error::from_errno(errno, "pipe2"));
  }
  UniqueFd output{ends[0]};
  const UniqueFd child_output{ends[1]};
  set_nonblocking(status.get());
  set_nonblocking(output.get());
  const std::vector<std::string> variables = environment_with(environment);
  const std::vector<char*> command_pointers = pointers_to(command);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(Error::from_errno(errno, "fork"));
  if (pid == 0) {
    become(command_pointers.data(), variable_pointers.data(), child_status.get(),
           child_output.get(), parent);
  }
  // Parent and child both do it, so that the group exists whoever comes first.
  ::setpgid(pid, pid);
  return Child(pid, std::move(status), std::move(output));
}

Child::Child(pid_t pid, UniqueFd status, UniqueFd output)
    : pid_(pid), status_(std::move(status)), output_(std::move(output)) {}

Child::Child(Child&& other) noexcept
    : pid_(other.pid_),
      ended_(std::exchange(other.ended_, true)),
      wait_status_(other.wait_status_),
      status_(std::move(other.status_)),
      output_(std::move(other.output_)) {}

Child::~Child() {
  if (ended_) return;
  kill();
  while (::waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
}

void Child::terminate() {
  if (!ended_) ::kill(pid_, SIGTERM);
}

void Child::kill() {
  // Once it is reaped, the number may belong to somebody else.
  if (!ended_) ::kill(-pid_, SIGKILL);
}

bool Child::has_ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return ended_;
}

std::string Child::how_it_ended() const {
  if (WIFSIGNALED(wait_status_)) {
    const int signal = WTERMSIG(wait_status_);
    return fmt::format("was killed by signal {} ({})", signal, ::sigdescr_np(signal));
  }
  return fmt::format("ended with code {}", WEXITSTATUS(wait_status_));
}

}  // namespace nvs::workloads
