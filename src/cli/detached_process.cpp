// SPDX-License-Identifier: Apache-2.0
#include "cli/detached_process.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nvs::cli {
namespace {

constexpr int kExitOfHelper = 0;
constexpr int kDefaultPolicy = 0;  // MPOL_DEFAULT, of a header that not every system has

// What the started side says to its starter, once or twice: its pid, and an errno if exec failed.
struct Report {
  pid_t pid;
  int error;
};

// A descriptor of at least 3: standard ones may be closed, and must not be mistaken for others.
UniqueFd above_standard(int fd) { return UniqueFd{::fcntl(fd, F_DUPFD_CLOEXEC, 3)}; }

void close_all_but(int keep) {
  if (keep > 3) ::syscall(SYS_close_range, 3U, static_cast<unsigned>(keep - 1), 0U);
  if (::syscall(SYS_close_range, static_cast<unsigned>(keep + 1), ~0U, 0U) == 0) return;
  // Before Linux 5.9. Limits of a million files are common, and few are in use.
  constexpr int kFilesMax = 65536;
  for (int fd = 3; fd < kFilesMax; ++fd) {
    if (fd != keep) ::close(fd);
  }
}

void forget_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Whoever comes first starts the program for all who come later, and was perhaps given one core,
// few files or a late place in the queue for its own sake. What may not be changed stays as it is.
void forget_place() {
  std::uint64_t all_cpus[128];
  std::memset(all_cpus, 0xff, sizeof all_cpus);  // the kernel leaves out what a cpuset forbids
  ::syscall(SYS_sched_setaffinity, 0, sizeof all_cpus, all_cpus);
  ::syscall(SYS_set_mempolicy, kDefaultPolicy, nullptr, 0UL);
  const sched_param ordinary{};
  ::sched_setscheduler(0, SCHED_OTHER, &ordinary);
  if (::getpriority(PRIO_PROCESS, 0) > 0) ::setpriority(PRIO_PROCESS, 0, 0);
  // Those that would end it, or leave it without something. The others are a matter of taste.
  for (const int resource :
       {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(resource, &limit);
  }
}

void report(int fd, int error) {
  const Report text{::getpid(), error};
  // A starter that is gone needs no report.
  if (::write(fd, &text, sizeof text) < 0) return;
}

// The grandchild: becomes the program, or reports why not.
[[noreturn]] void become(const DetachedProgram& program, int output, int reports) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
      ::dup2(output, STDERR_FILENO) < 0 || ::chdir("/") != 0) {
    report(reports, errno);
    ::_exit(kExitOfHelper);
  }
  ::umask(077);
  forget_signals();
  forget_place();
  close_all_but(reports);
  for (const char* name : program.without) ::unsetenv(name);
  std::vector<char*> argv;
  for (const std::string& word : program.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  report(reports, 0);
  ::execv(argv[0], argv.data());
  report(reports, errno);
  ::_exit(kExitOfHelper);
}

Result<UniqueFd> read_reports(int fd) {
  Report first{};
  if (::read(fd, &first, sizeof first) != sizeof first) {
    return tl::unexpected(Error::from_errno(EAGAIN, "fork"));
  }
  if (first.error != 0) return tl::unexpected(Error::from_errno(first.error, "prepare"));
  UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, first.pid, 0U))};
  Report second{};
  // The end of the file is exec's doing, and means that it went well.
  if (::read(fd, &second, sizeof second) == sizeof second) {
    return tl::unexpected(Error::from_errno(second.error, "exec"));
  }
  return pidfd;
}

}  // namespace

Result<UniqueFd> start_detached(const DetachedProgram& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(Error::from_errno(errno, "pipe"));
  const UniqueFd read_end{ends[0]};
  UniqueFd write_end{ends[1]};
  UniqueFd reports = above_standard(write_end.get());
  UniqueFd output = above_standard(program.output);
  if (!reports || !output) return tl::unexpected(Error::from_errno(errno, "duplicate"));
  write_end.reset();
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(Error::from_errno(errno, "fork"));
  if (child == 0) {
    // In a session of its own, and no leader of it: it can never get a terminal again.
    ::setsid();
    if (::fork() == 0) become(program, output.get(), reports.get());
    ::_exit(kExitOfHelper);
  }
  reports.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return read_reports(read_end.get());
}

}  // namespace nvs::cli
