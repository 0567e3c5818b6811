// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/process_identity.h"

#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cuda_sim/machine/test_child.h"

namespace nvs::sim {
namespace {

// Memory that a child writes and its parent reads.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)) T()) {}
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

TEST(ProcessIdentity, OwnProcessIsAlive) {
  const ProcessIdentity self = own_identity();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_NE(self.start_time, 0U);
  EXPECT_EQ(liveness(self), Liveness::alive);
}

TEST(ProcessIdentity, ReusedPidIsSomebodyElse) {
  ProcessIdentity self = own_identity();
  ++self.start_time;
  EXPECT_EQ(liveness(self), Liveness::dead);
  self.start_time -= 2;
  EXPECT_EQ(liveness(self), Liveness::dead);
}

TEST(ProcessIdentity, NobodyIsDead) {
  EXPECT_EQ(liveness({.pid = 0, .start_time = 0}), Liveness::dead);
  EXPECT_EQ(liveness({.pid = 0x7ffffff0, .start_time = 1}), Liveness::dead);
}

TEST(ProcessIdentity, StagesOfALife) {
  Shared<ProcessIdentity> identity;
  const TestChild child([&] { *identity = own_identity(); });
  ASSERT_TRUE(child.ran());
  EXPECT_EQ(identity->pid, child.pid());
  EXPECT_EQ(liveness(*identity), Liveness::alive);
  child.stop();
  EXPECT_EQ(liveness(*identity), Liveness::stopped);
  child.resume();
  child.kill();
  EXPECT_EQ(liveness(*identity), Liveness::dead) << "a zombie is dead";
}

TEST(ProcessIdentity, NameWithSpacesAndParentheses) {
  Shared<ProcessIdentity> identity;
  const TestChild child([&] {
    ::prctl(PR_SET_NAME, ") Z 1 2 (x");
    *identity = own_identity();
  });
  ASSERT_TRUE(child.ran());
  EXPECT_NE(identity->start_time, 0U);
  EXPECT_EQ(liveness(*identity), Liveness::alive);
}

TEST(ProcessIdentity, AliveWhileOneThreadIs) {
  Shared<ProcessIdentity> identity;
  const pid_t child = ::fork();
  if (child == 0) {
    *identity = own_identity();
    std::thread([] {
      for (;;) ::pause();
    }).detach();
    // Ends the first thread alone, which then is a zombie with company.
    ::syscall(SYS_exit, 0);
  }
  const std::string path = "/proc/" + std::to_string(child) + "/stat";
  const auto state = [&] {
    std::string text;
    std::getline(std::ifstream(path), text);
    const std::size_t end = text.rfind(')');
    return end == std::string::npos ? '?' : text.at(end + 2);
  };
  while (state() != 'Z') ::usleep(1000);
  EXPECT_EQ(liveness(*identity), Liveness::alive);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(liveness(*identity), Liveness::dead);
}

}  // namespace
}  // namespace nvs::sim
