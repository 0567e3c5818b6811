// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/test_process.h"

#include <array>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nvs::nvml {

TestProcess::TestProcess(const TenantOptions& options) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return;
  const UniqueFd in_read{in[0]};
  input_ = UniqueFd{in[1]};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return;
  const UniqueFd out_read{out[0]};
  UniqueFd out_write{out[1]};

  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in_read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out_write.get(), STDOUT_FILENO);
  std::string program = NVS_NVML_TENANT;
  std::string gpu = std::to_string(options.gpu);
  std::string bytes = std::to_string(options.bytes);
  std::string percent = std::to_string(options.busy_percent);
  std::array<char*, 5> argv = {program.data(), gpu.data(), bytes.data(), percent.data(), nullptr};
  if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid_ = 0;
  ::posix_spawn_file_actions_destroy(&actions);

  out_write = UniqueFd{};
  char letter = 0;
  started_ = pid_ != 0 && ::read(out_read.get(), &letter, 1) == 1;
}

TestProcess::~TestProcess() { end(); }

void TestProcess::end() {
  input_ = UniqueFd{};
  if (pid_ == 0) return;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(killed || status == 0) << "test_tenant ended with status " << status;
}

void TestProcess::kill() {
  ::kill(pid_, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
}

}  // namespace nvs::nvml
