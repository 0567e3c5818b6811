// SPDX-License-Identifier: Apache-2.0
// The simulated library looks to the dynamic linker as the real one does, plus the test API.
#include "tests/cuda_sim/symbols.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "cuda_sim/test_api.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

std::set<std::string> test_api() {
  return {
#define NVS_CUSIM_NAME(symbol) #symbol,
      NVS_CUSIM_FUNCTIONS(NVS_CUSIM_NAME)
#undef NVS_CUSIM_NAME
  };
}

std::vector<std::string> missing(const std::set<std::string>& wanted,
                                 const std::set<std::string>& there) {
  std::vector<std::string> result;
  std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                      std::back_inserter(result));
  return result;
}

TEST(Symbols, ExportsAreTheSpecificationAndTheTestApi) {
  std::set<std::string> wanted = specified_entry_points();
  ASSERT_EQ(wanted.size(), 674U);
  wanted.merge(test_api());
  std::set<std::string> there;
  for (const auto& [name, kind] : exported_symbols(library_path())) there.insert(name);
  EXPECT_EQ(missing(wanted, there), std::vector<std::string>{}) << "not exported";
  EXPECT_EQ(missing(there, wanted), std::vector<std::string>{}) << "exported for nothing";
}

TEST(Symbols, OnlyGlibcIsNeeded) {
  std::set<std::string> glibc = {"libc.so.6",
                                 "libm.so.6",
                                 "libpthread.so.0",
                                 "libdl.so.2",
                                 "ld-linux-x86-64.so.2",
                                 "ld-linux-aarch64.so.1"};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  glibc.merge(std::set<std::string>{"libasan.so.8", "libubsan.so.1", "libtsan.so.2"});
#endif
  EXPECT_EQ(missing(needed_libraries(library_path()), glibc), std::vector<std::string>{});
}

}  // namespace
}  // namespace nvs::sim_test
