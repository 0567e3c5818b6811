// SPDX-License-Identifier: Apache-2.0
// Tenants that leave their descriptors to a child, or close those that are not theirs.
#include <array>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = 16'384;
// Where somebody else's descriptors are likely to have been, low and high.
constexpr int kLowFirst = 3;
constexpr int kLowLast = 40;
constexpr int kHighFirst = 650;
constexpr int kHighLast = 760;
constexpr int kOutOfTheWay = 900;

// The child has nothing to do with CUDA, and holds what it inherited until the test is gone.
[[noreturn]] void live_on() {
  ::prctl(PR_SET_NAME, "fault_child");
  const std::string line = "child " + std::to_string(::getpid()) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);
  for (;;) ::pause();
}

void must_be(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

// Takes the numbers that were just closed: every other high one for a connection, all else for a
// file, both empty but for one packet that waits to be read.
class OwnFiles {
 public:
  OwnFiles() {
    std::array<int, 2> pair{};
    const int file = ::memfd_create("own", 0);
    must_be(file >= 0, "no file");
    must_be(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair.data()) == 0, "no connection");
    file_ = ::fcntl(file, F_DUPFD, kOutOfTheWay);
    near_end_ = ::fcntl(pair[0], F_DUPFD, kOutOfTheWay);
    far_end_ = ::fcntl(pair[1], F_DUPFD, kOutOfTheWay);
    must_be(::send(far_end_, "x", 1, 0) == 1, "cannot send");
    for (int fd = kLowFirst; fd <= kLowLast; ++fd) must_be(::dup2(file_, fd) == fd, "dup2");
    for (int fd = kHighFirst; fd <= kHighLast; ++fd) {
      must_be(::dup2(is_file(fd) ? file_ : near_end_, fd) == fd, "dup2");
    }
  }

  void must_be_untouched() const {
    struct stat info {};
    for (int fd = kHighFirst; fd <= kHighLast; ++fd) {
      must_be(::fstat(fd, &info) == 0, "one of our descriptors was closed");
      must_be(S_ISREG(info.st_mode) == is_file(fd), "one of our descriptors was replaced");
    }
    must_be(::fstat(file_, &info) == 0 && info.st_size == 0, "somebody wrote into our file");
    char packet = 0;
    must_be(::recv(far_end_, &packet, 1, MSG_DONTWAIT) < 0, "somebody wrote into our connection");
    must_be(::recv(near_end_, &packet, 1, MSG_DONTWAIT) == 1, "somebody read our packet");
  }

 private:
  static bool is_file(int fd) { return fd % 2 == 0; }

  int file_ = -1;
  int near_end_ = -1;
  int far_end_ = -1;
};

}  // namespace

// forker fork|clone: with the C library's fork, or past it and its handlers.
int forker(int argc, char** argv) {
  must_be(argc > 0, "fork or clone?");
  const Gpu gpu;
  Counted data(gpu, kFloats);
  for (int i = 0; i < 16; ++i) data.step(nullptr);
  data.check(nullptr);
  const bool plain = std::strcmp(argv[0], "fork") == 0;
  const long child = plain ? ::fork() : ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) live_on();
  must_be(child > 0, "no child");
  work_until_stopped(gpu, data);
  return 0;
}

// Closes everything in the middle of its work and uses the numbers itself.
int closer(int, char**) {
  const Gpu gpu;
  Counted data(gpu, kFloats);
  for (int i = 0; i < 48; ++i) {
    data.step(nullptr, 1'000'000);
    if (i % 8 == 7) say_at(data.steps());
  }
  wait_for_word();
  must_be(::syscall(SYS_close_range, 3U, ~0U, 0U) == 0, "close_range");
  const OwnFiles files;
  say("closed");
  work_until_stopped(gpu, data);
  files.must_be_untouched();
  return 0;
}

}  // namespace nvs::faults
