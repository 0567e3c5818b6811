// SPDX-License-Identifier: Apache-2.0
// The conformance program with the library writes what it writes without it, byte for byte.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cuda_sim/sim_fixture.h"
#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

using sim_test::SimMachine;

std::string take_text(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ::unlink(path.c_str());
  return text;
}

struct Transcript {
  std::string text;
  std::string log;  // of the library, if it was told to write one
};

Transcript transcript(Library library, const Environment& more = {}) {
  const SimMachine machine(Environment{{"NVSHARE_SIM_PRESET", "h200"}, {"NVSHARE_SIM_SCALE", "1"}});
  const std::string path = testing::TempDir() + "/" + machine.name();
  Command command{.program = built("bin/nvshare-conformance"),
                  .arguments = {"--driver", built("lib/sim/libcuda.so.1"), "--output", path},
                  .driver = "",
                  .environment = machine.settings()};
  command.environment.erase("NVSHARE_SIM_TIME");
  command.environment["NVSHARE_DEBUG_FILE"] = path + ".log";
  command.environment.insert(more.begin(), more.end());
  const Outcome outcome = run(command, library);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  return {take_text(path), take_text(path + ".log")};
}

TEST(Conformance, TranscriptIsTheSame) {
  const Transcript alone = transcript(Library::none);
  EXPECT_GT(alone.text.size(), 100'000U);
  const Transcript with = transcript(Library::product);
  EXPECT_TRUE(with.text == alone.text) << difference(with.text, alone.text);
  EXPECT_EQ(with.log, "") << "nobody asked for a log";
  const Transcript logged = transcript(Library::product, {{"NVSHARE_DEBUG", "1"}});
  EXPECT_TRUE(logged.text == alone.text) << difference(logged.text, alone.text);
  // The library was there, and saw memory come and go.
  EXPECT_NE(logged.log.find("memory owner"), std::string::npos) << logged.log;
}

}  // namespace
}  // namespace nvs::interposer_test
