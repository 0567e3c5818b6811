// SPDX-License-Identifier: Apache-2.0
#include "cuda_api/driver.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace nvs {
namespace {

TEST(Driver, FillsWhatTheLibraryHasAndLeavesTheRestNull) {
  auto driver = Driver::load(NVS_FAKE_DRIVER);
  ASSERT_TRUE(driver) << driver.error();
  int version = 0;
  EXPECT_EQ(driver->cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(driver->cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver->cuMemAlloc, nullptr);
  EXPECT_EQ(driver->cuLaunchKernel_ptsz, nullptr);
}

TEST(Driver, FindsAnySymbolByName) {
  auto driver = Driver::load(NVS_FAKE_DRIVER);
  ASSERT_TRUE(driver) << driver.error();
  EXPECT_EQ(driver->symbol("cuInit"), reinterpret_cast<void*>(driver->cuInit));
  EXPECT_EQ(driver->symbol("cuNothing"), nullptr);
}

TEST(Driver, LooksSymbolsUpAsItIsTold) {
  const auto driver = Driver::load(NVS_FAKE_DRIVER, [](void* library, const char* name) {
    const bool wanted = std::strcmp(name, "cuInit") == 0;
    return wanted ? dlsym(library, "cuDriverGetVersion") : nullptr;
  });
  ASSERT_TRUE(driver) << driver.error();
  EXPECT_EQ(reinterpret_cast<void*>(driver->cuInit), driver->symbol("cuDriverGetVersion"));
  EXPECT_EQ(driver->cuMemAlloc_v2, nullptr);
}

TEST(Driver, TellsTheSimulatorFromADriver) {
  auto real = Driver::load(NVS_FAKE_DRIVER);
  auto simulator = Driver::load(NVS_FAKE_SIMULATOR);
  ASSERT_TRUE(real && simulator);
  EXPECT_FALSE(real->is_simulator());
  EXPECT_EQ(real->sim(), nullptr);
  ASSERT_TRUE(simulator->is_simulator());
  EXPECT_EQ(simulator->sim()->cusimScale(), 64U);
}

TEST(Driver, SurvivesAMove) {
  auto loaded = Driver::load(NVS_FAKE_SIMULATOR);
  ASSERT_TRUE(loaded) << loaded.error();
  const Driver driver = *std::move(loaded);
  EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.sim()->cusimScale(), 64U);
}

TEST(Driver, TheEnvironmentNamesTheDefault) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
  ASSERT_EQ(setenv("NVSHARE_CUDA_LIBRARY", NVS_FAKE_SIMULATOR, 1), 0);
  const auto driver = Driver::load();
  unsetenv("NVSHARE_CUDA_LIBRARY");  // NOLINT(concurrency-mt-unsafe): as above
  ASSERT_TRUE(driver) << driver.error();
  EXPECT_TRUE(driver->is_simulator());
}

TEST(Driver, SaysWhichLibraryIsMissing) {
  const auto driver = Driver::load("libno_such_driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().find("libno_such_driver.so.1"), std::string::npos) << driver.error();
}

}  // namespace
}  // namespace nvs
