// SPDX-License-Identifier: Apache-2.0
#include "daemon/run_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::daemon {
namespace {

class RunProcesses : public ::testing::Test {
 protected:
  void process(const std::string& pid, const std::string& variables) {
    std::string text = variables;
    for (char& letter : text) letter = letter == ' ' ? '\0' : letter;
    proc_.write(pid + "/environ", text);
  }
  std::optional<pid_t> find() { return find_run_process("/run/x", proc_.path().c_str()); }

  TestFolder proc_;
};

TEST_F(RunProcesses, WhoHasBothVariablesIsFound) {
  process("7", "HOME=/ NVSHARE_FOLDER=/run/x NVSHARE_RUN=00000000000000ab A=b ");
  EXPECT_EQ(find(), 7);
}

TEST_F(RunProcesses, ASlashMoreIsTheSameFolder) {
  process("7", "NVSHARE_RUN=00000000000000ab NVSHARE_FOLDER=/run/x/");
  EXPECT_EQ(find(), 7);
}

TEST_F(RunProcesses, NobodyElseIs) {
  process("3", "");
  process("4", "NVSHARE_FOLDER=/run/x ");
  process("5", "NVSHARE_FOLDER=/run/xy NVSHARE_RUN=00000000000000ab ");
  process("6", "XNVSHARE_FOLDER=/run/x NVSHARE_RUN=00000000000000ab ");
  process("7", "NVSHARE_FOLDER=/run/x NVSHARE_RUN= ");
  process("self", "NVSHARE_FOLDER=/run/x NVSHARE_RUN=00000000000000ab ");
  process(std::to_string(::getpid()), "NVSHARE_FOLDER=/run/x NVSHARE_RUN=00000000000000ab ");
  proc_.write("8/status", "it has ended");
  EXPECT_EQ(find(), std::nullopt);
}

}  // namespace
}  // namespace nvs::daemon
