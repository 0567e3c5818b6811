// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/quiet_write.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "os/linux_calls.h"

namespace nvs::interposer::debug {
namespace {

using SignalSet = std::uint64_t;  // as the kernel has it
constexpr SignalSet kBrokenPipe = SignalSet{1} << (SIGPIPE - 1);

// Holds SIGPIPE back for this thread, and takes away the one that a write of ours has raised. One
// that was already on its way stays.
class BrokenPipeGuard {
 public:
  BrokenPipeGuard() {
    os::system_call(SYS_rt_sigpending, os::argument(&pending_before_), sizeof(SignalSet));
    os::system_call(SYS_rt_sigprocmask, SIG_BLOCK, os::argument(&kBrokenPipe),
                    os::argument(&mask_before_), sizeof(SignalSet));
  }
  ~BrokenPipeGuard() {
    os::system_call(SYS_rt_sigprocmask, SIG_SETMASK, os::argument(&mask_before_), 0,
                    sizeof(SignalSet));
  }
  BrokenPipeGuard(const BrokenPipeGuard&) = delete;
  BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;

  void take_away() {
    if ((pending_before_ & kBrokenPipe) != 0) return;
    const timespec at_once{};
    os::system_call(SYS_rt_sigtimedwait, os::argument(&kBrokenPipe), 0, os::argument(&at_once),
                    sizeof(SignalSet));
  }

 private:
  SignalSet pending_before_ = 0;
  SignalSet mask_before_ = 0;
};

}  // namespace

FileIdentity identity_of(int fd) {
  struct stat facts {};
  if (os::system_call(SYS_fstat, fd, os::argument(&facts)) != 0) return {};
  return {facts.st_dev, facts.st_ino, true};
}

void quiet_write(int fd, const FileIdentity& expected, const char* data, std::size_t size) {
  const FileIdentity found = identity_of(fd);
  if (!expected.open || !found.open) return;
  if (found.device != expected.device || found.inode != expected.inode) return;
  BrokenPipeGuard guard;
  if (os::write_file(fd, data, size) == -EPIPE) guard.take_away();
}

}  // namespace nvs::interposer::debug
