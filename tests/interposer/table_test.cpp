// SPDX-License-Identifier: Apache-2.0
// Every entry point of the driver, reached in every way: the same arguments arrive, once, and the
// same results come back.
#include <sstream>

#include <gtest/gtest.h>

#include "tests/interposer/fake/rows.h"
#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

#define NVS_IS_HOOKED_gate 1
#define NVS_IS_HOOKED_own 1
#define NVS_IS_HOOKED_jump 1
#define NVS_IS_HOOKED_call 0
#define NVS_IS_HOOKED_none 0
#define NVS_CUDA_HOOK(symbol, family, action) +NVS_IS_HOOKED_##action
#define NVS_NVML_HOOK(symbol, family, action)
constexpr std::size_t kHooked = 0
#include "spec/hooks.def"
    ;
#undef NVS_CUDA_HOOK
#undef NVS_NVML_HOOK

class Table : public testing::TestWithParam<const char*> {
 protected:
  // Alone, every line must say that all is well, or the comparison would prove nothing.
  static void expect_all_intact(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.output.find("LOST"), std::string::npos) << outcome.output;
    std::size_t called_once = 0;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      called_once += line.find(", 1 call, ") != std::string::npos ? 1 : 0;
    }
    // Three names are exported and not known to cuGetProcAddress.
    EXPECT_GE(called_once, fake::kEntryCount - 3);
  }

  static std::size_t hooked(const Outcome& outcome) {
    std::size_t count = 0;
    std::istringstream(outcome.evidence.substr(outcome.evidence.find(' ') + 1)) >> count;
    return count;
  }
};

TEST_P(Table, FailuresComeBackAsTheyAre) {
  const Command command{.program = "table", .arguments = {GetParam(), "fails"}};
  expect_all_intact(run(command, Library::none));
  const Outcome with = same_as_alone(command);
  EXPECT_GE(hooked(with), kHooked - 3);
}

TEST_P(Table, ResultsComeBackAsTheyAre) {
  const Command command{.program = "table", .arguments = {GetParam(), "succeeds"}};
  expect_all_intact(run(command, Library::none));
  const Outcome with = same_as_alone(command);
  EXPECT_GE(hooked(with), kHooked - 3);
}

INSTANTIATE_TEST_SUITE_P(AllWays, Table,
                         testing::Values("link", "dlsym", "default", "proc_address",
                                         "proc_address_v2"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace nvs::interposer_test
