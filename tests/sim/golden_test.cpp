// SPDX-License-Identifier: Apache-2.0
// The scenarios against what they were when somebody last looked at them: the first lines of each
// trace, and its figures. NVS_UPDATE_GOLDEN=1 writes the files anew, to be read before they are
// committed.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "scenarios.h"
#include "table.h"
#include "trace.h"
#include "world.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kLines = 80;

std::string run(const Scenario& scenario) {
  std::string text;
  std::size_t lines = 0;
  Trace trace([&](const std::string& line) {
    if (lines++ < kLines) text += line + "\n";
  });
  World world(scenario.plan, kSeed, trace);
  world.run();
  EXPECT_EQ(world.failure().value_or(""), "");
  return text + "...\n" + table_of(world);
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Golden : public testing::TestWithParam<Scenario> {};

TEST_P(Golden, IsAsItWas) {
  const std::string path = NVS_GOLDEN_FOLDER + ("/" + GetParam().name) + ".txt";
  const std::string text = run(GetParam());
  if (std::getenv("NVS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text, read(path)) << "NVS_UPDATE_GOLDEN=1 rewrites " << path;
}

TEST_P(Golden, IsTheSameTwice) { EXPECT_EQ(run(GetParam()), run(GetParam())); }

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all = make_scenarios();
  for (const Scenario& one : make_capped_scenarios()) {
    // The others differ in numbers only: caps_test.cpp has those.
    const bool shown = one.name == "capped_alone" || one.name == "capped_30_60" ||
                       one.name == "high_beside_capped" || one.name == "capped_concurrent";
    if (shown) all.push_back(one);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden, testing::ValuesIn(all_scenarios()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace nvs::sim
