// SPDX-License-Identifier: Apache-2.0
// The hook of cuGetProcAddress, on a driver that answers what the test wants.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "interposer/debug/log.h"
#include "interposer/exports/hooks.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/test_real.h"

namespace nvs::interposer {
namespace {

CUresult answer_result = CUDA_SUCCESS;
void* answer_function = nullptr;

CUresult fake_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}

CUresult fake_look_up(const char*, void** function, int, cuuint64_t,
                      CUdriverProcAddressQueryResult*) {
  if (function != nullptr) *function = answer_function;
  return answer_result;
}

void* ask(const char* name) {
  void* function = nullptr;
  EXPECT_EQ(hooks::cuGetProcAddress_v2(name, &function, 13000, 0, nullptr), answer_result);
  return function;
}

class ProcAddressTest : public testing::Test {
 protected:
  void SetUp() override {
    set_real_for_test<Row::cuLaunchKernel>(&fake_launch);
    set_real_for_test<Row::cuGetProcAddress_v2>(&fake_look_up);
    answer_result = CUDA_SUCCESS;
    answer_function = reinterpret_cast<void*>(&fake_launch);
  }
};

TEST_F(ProcAddressTest, GivesTheHookOfTheAddressAndNotOfTheName) {
  EXPECT_EQ(ask("cuLaunchKernel"), hook_of(index_of(Row::cuLaunchKernel)));
  EXPECT_EQ(ask("cuMemAlloc"), hook_of(index_of(Row::cuLaunchKernel)));
}

TEST_F(ProcAddressTest, LeavesOtherAnswersAlone) {
  answer_function = &answer_result;
  EXPECT_EQ(ask("cuLaunchKernel"), &answer_result);
  answer_function = nullptr;
  EXPECT_EQ(ask("cuLaunchKernel"), nullptr);
  EXPECT_EQ(hooks::cuGetProcAddress_v2("cuLaunchKernel", nullptr, 13000, 0, nullptr), CUDA_SUCCESS);
  answer_function = reinterpret_cast<void*>(&fake_launch);
  answer_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(ask("cuLaunchKernel"), answer_function)
      << "what a refusal leaves there is the driver's";
}

TEST_F(ProcAddressTest, LogsOnceWhatLooksLikeAGapInTheTable) {
  const std::string file =
      testing::TempDir() + "proc_address_test." + std::to_string(::getpid()) + ".log";
  debug::start(file.c_str());
  ask("cuLaunchKernel");
  answer_function = &answer_result;
  ask("cuLaunchSomethingNew");
  ask("cuLaunchSomethingNew");
  ask("cuCtxDoNothing");
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  std::remove(file.c_str());
  const std::string log = text.str();
  const std::size_t first = log.find("unknown name cuLaunchSomethingNew\n");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("cuLaunchSomethingNew", first + 20), std::string::npos) << log;
  EXPECT_EQ(log.find("cuCtxDoNothing"), std::string::npos) << log;
  EXPECT_EQ(log.find("cuLaunchKernel"), std::string::npos) << log;
}

}  // namespace
}  // namespace nvs::interposer
