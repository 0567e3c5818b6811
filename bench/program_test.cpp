// SPDX-License-Identifier: Apache-2.0
// nvshare-bench as a user meets it: exit codes, messages, and the shape of its JSON on the
// simulator. No figure is judged.
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "bench/daemon_process.h"
#include "bench/failure.h"
#include "bench/python_turns.h"

namespace {

struct Outcome {
  int code = -1;
  std::string text;
};

Outcome run(const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe = ::popen((std::string("'") + NVS_BENCH + "' " + arguments).c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> bytes{};
  for (std::size_t count = 0; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    outcome.text.append(bytes.data(), count);
  }
  outcome.code = WEXITSTATUS(::pclose(pipe));
  return outcome;
}

TEST(Program, ListsItsCases) {
  const Outcome outcome = run("--list");
  EXPECT_EQ(outcome.code, 0);
  for (const char* name : {"driver", "pair", "fits", "oversub", "recover", "swap", "seeds"}) {
    EXPECT_NE(outcome.text.find(std::string("  ") + name + " "), std::string::npos) << name;
  }
}

TEST(Program, HelpGoesToStdout) {
  const Outcome outcome = run("--help 2>/dev/null");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("Exit codes"), std::string::npos);
}

TEST(Program, BadInputGetsAMessageAndCode2) {
  const Outcome outcome = run("driver --sim a100 2>&1 >/dev/null");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.text.find("h200, t4"), std::string::npos);
  EXPECT_EQ(run("2>/dev/null").code, 2);
  EXPECT_EQ(run("--child tenant 2>/dev/null </dev/null").code, 2);
}

TEST(Program, ALibraryThatIsNotThereIsNamed) {
  const Outcome outcome = run("overhead --sim h200 --quick --library no/such.so 2>&1 >/dev/null");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.text.find("there is no no/such.so"), std::string::npos) << outcome.text;
}

TEST(Program, ALibraryThatCannotBePreloadedIsAFailure) {
  const Outcome outcome = run("overhead --sim h200 --quick --library /etc/passwd 2>&1 >/dev/null");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.text.find("/etc/passwd is not mapped"), std::string::npos) << outcome.text;
}

TEST(Program, JsonOfTheDriverCaseOnTheSimulator) {
  const Outcome outcome = run("driver --sim h200 --quick --json");
  ASSERT_EQ(outcome.code, 0);
  std::istringstream lines(outcome.text);
  int rows = 0;
  int targets = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const nlohmann::json row = nlohmann::json::parse(line);
    for (const char* key : {"case", "what", "value", "unit", "target", "ok", "valid"}) {
      EXPECT_TRUE(row.contains(key)) << key << " in " << line;
    }
    EXPECT_EQ(row["case"], "driver");
    EXPECT_GT(row["value"].get<double>(), 0) << line;
    EXPECT_EQ(row["target"].is_null(), row["ok"].is_null()) << line;
    targets += row["target"].is_null() ? 0 : 1;
  }
  EXPECT_GT(rows, 20);
  EXPECT_EQ(targets, 7) << "duplex, swaps out and in, slicing of two kernels with 2 and 4 tenants";
}

// A folder with a tq.py of ours and, for Python, a PyTorch that has nothing in it.
class PythonTurnsTest : public ::testing::Test {
 protected:
  PythonTurnsTest() { write("torch.py", ""); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  nvs::bench::PythonTurns start() {
    return {folder_.path() + "/tq.py", "tiny", {{"PYTHONPATH", folder_.path()}}, NVS_BENCH};
  }
  nvs::bench::TemporaryFolder folder_;
};

TEST_F(PythonTurnsTest, RunTheProgramOncePerTurnInOneProcess) {
  write("tq.py",
        "import sys, torch\n"
        "torch.turns = getattr(torch, 'turns', 0) + 1\n"
        "print('a warning')\n"
        "print(sys.argv[1], f'{1000 * torch.turns + float(sys.argv[2]) + len(sys.argv):.1f} "
        "it/s')\n");
  nvs::bench::PythonTurns turns = start();
  EXPECT_DOUBLE_EQ(turns.rate(0.5), 1003.5);
  turns.start(2, 1.0);
  EXPECT_DOUBLE_EQ(turns.finish(), 2006);
}

TEST_F(PythonTurnsTest, SayWhatWentWrong) {
  write("tq.py", "raise RuntimeError('CUDA error: out of memory')\n");
  nvs::bench::PythonTurns turns = start();
  try {
    turns.rate(0.1);
    FAIL();
  } catch (const nvs::bench::Failure& failure) {
    EXPECT_STREQ(failure.what(), "tq.py tiny: RuntimeError: CUDA error: out of memory");
  }
}

}  // namespace
