// SPDX-License-Identifier: Apache-2.0
// Entry points that the simulator lacks are there, fail cleanly, and say so once.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"
#include "tests/cuda_sim/symbols.h"

namespace nvs::sim_test {
namespace {

// Stubs are weak, so that an implementation replaces them.
std::set<std::string> stubs() {
  std::set<std::string> names;
  for (const auto& [name, kind] : exported_symbols(library_path())) {
    if (kind == 'W') names.insert(name);
  }
  return names;
}

std::size_t times_named(const std::string& text, const std::string& name) {
  const std::string mark = " " + name + " ";
  std::size_t times = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    ++times;
  }
  return times;
}

TEST(Unsupported, EachOneIsNamedOnceAndReturnsNotSupported) {
  const std::set<std::string> names = stubs();
  ASSERT_FALSE(names.empty());
  ASSERT_TRUE(names.contains("cuTexObjectCreate")) << "the simulator has no textures";
  SimMachine machine;
  const std::string errors = run_process(machine, [&](Line&) {
    const Driver& driver = initialised_driver();
    for (int round = 0; round < 2; ++round) {
      for (const std::string& name : names) {
        const auto stub = reinterpret_cast<CUresult (*)()>(driver.symbol(name.c_str()));
        ASSERT_NE(stub, nullptr) << name;
        EXPECT_EQ(stub(), CUDA_ERROR_NOT_SUPPORTED) << name;
      }
    }
    // Nothing is broken afterwards.
    const Gpu gpu;
    EXPECT_EQ(gpu.read(gpu.filled(64, 1), 1).front(), 1);
  });
  for (const std::string& name : names) EXPECT_EQ(times_named(errors, name), 1U) << name;
  EXPECT_EQ(static_cast<std::size_t>(std::count(errors.begin(), errors.end(), '\n')), names.size());
}

}  // namespace
}  // namespace nvs::sim_test
