// SPDX-License-Identifier: Apache-2.0
// The cases that need the daemon and the library, run once through in their quick form on the
// simulator: the rows that they must have, and exit codes. No figure is judged but for what cannot
// depend on the machine: other tests run beside this one.
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

namespace {

struct Outcome {
  int code = -1;
  std::map<std::string, nlohmann::json> rows;  // by section and name
};

constexpr const char* kShort = "0.2";

// A factor below 1 shortens what takes long, and its figures are worth nothing.
Outcome run_quick(const std::string& name, const std::string& time_factor = "1") {
  Outcome outcome;
  const std::string command = std::string("'") + NVS_BENCH + "' " + name +
                              " --sim h200 --quick --json --time-factor " + time_factor;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::string text;
  std::array<char, 4096> bytes{};
  for (std::size_t count = 0; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    text.append(bytes.data(), count);
  }
  outcome.code = WEXITSTATUS(::pclose(pipe));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    EXPECT_EQ(row["case"], name);
    outcome.rows[row["section"].get<std::string>() + ": " + row["what"].get<std::string>()] = row;
  }
  return outcome;
}

double value(const Outcome& outcome, const std::string& row) {
  const auto found = outcome.rows.find(row);
  if (found == outcome.rows.end()) {
    ADD_FAILURE() << "no row " << row;
    return -1;
  }
  return found->second["value"].is_null() ? -1 : found->second["value"].get<double>();
}

TEST(Ended, LeavesNoFolderOfItsDaemonBehind) {
  const std::string script = std::string("TMPDIR=$(mktemp -d); export TMPDIR; '") + NVS_BENCH +
                             "' idle --sim h200 >/dev/null 2>&1 & "
                             "until ls $TMPDIR/nvshare-bench-*/bench.log >/dev/null 2>&1; "
                             "do kill -0 $! || break; sleep 0.05; done; "
                             "kill -TERM $!; wait $!; code=$?; ls $TMPDIR; rm -rf $TMPDIR; "
                             "exit $code";
  std::FILE* pipe = ::popen(script.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 256> left{};
  EXPECT_EQ(std::fread(left.data(), 1, left.size() - 1, pipe), 0u) << left.data();
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 128 + SIGTERM);
}

TEST(Quick, PairSwitchesUnderTheDaemonOnly) {
  const Outcome outcome = run_quick("pair");
  ASSERT_EQ(outcome.code, 0);
  const std::string section = "add, kernels of 1.7 ms: ";
  EXPECT_GT(value(outcome, section + "2 tenants, nvshare, total of one alone"), 0);
  EXPECT_GT(value(outcome, section + "4 tenants, driver, total of one alone"), 0);
  EXPECT_GT(value(outcome, section + "4 tenants, nvshare, switches"), 1);
  EXPECT_EQ(outcome.rows.count(section + "4 tenants, driver, switches"), 0u);
}

TEST(Quick, LatencyHasBothPriorities) {
  const Outcome outcome = run_quick("latency");
  ASSERT_EQ(outcome.code, 0);
  for (const char* who : {"nvshare, requests of normal priority", "driver",
                          "nvshare, requests of high priority", "Requests alone, bare"}) {
    EXPECT_GT(value(outcome, std::string(who) + ": p99 from arrival"), 0);
  }
}

TEST(Quick, IdleTenantsComeToTheirEnd) {
  const Outcome outcome = run_quick("idle");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.rows.size(), 16u);
  const std::string section = "Bursts of 4 kernels of 1.7 ms, busy a tenth of the time: ";
  for (const char* who : {"one tenant alone", "one tenant, nvshare", "3 tenants, nvshare"}) {
    const double first_launch_ms = value(outcome, section + who + ", its first launch, p50");
    EXPECT_GT(first_launch_ms, 0) << who;
    EXPECT_GT(value(outcome, section + who + ", a burst, p50"), first_launch_ms) << who;
  }
  // Its bursts are part of that, and so is its sleep.
  const double alone_ms = 1000 * value(outcome, section + "one tenant alone");
  const double burst_ms = value(outcome, section + "one tenant alone, a burst, mean");
  EXPECT_GT(alone_ms, 20 * burst_ms);
}

TEST(Quick, StreamsHaveKernelsAndCopies) {
  const Outcome outcome = run_quick("streams");
  ASSERT_EQ(outcome.code, 0);
  for (const char* kernels : {"kernels of 1.7 ms", "kernels of 20 ms"}) {
    const std::string section = std::string(kernels) + ", and copies of 4 MiB to the GPU: ";
    EXPECT_GT(value(outcome, section + "kernels, of bare"), 0);
    EXPECT_GT(value(outcome, section + "copies, of bare"), 0);
  }
}

TEST(Quick, RecoverGoesThroughAllFaults) {
  const Outcome outcome = run_quick("recover");
  ASSERT_EQ(outcome.code, 0);
  const std::string section =
      "Something happens to one of two tenants: the other gets nothing done for: ";
  for (const char* fault :
       {"SIGKILL in its window", "SIGKILL out of its window", "SIGSTOP in its window",
        "under a CPU limit of a tenth", "a third sends 10,000 messages a second",
        "its drain cannot complete"}) {
    EXPECT_GT(value(outcome, section + fault), 0);
  }
  EXPECT_GT(value(outcome,
                  "SIGKILL and restart of the daemon of two tenants: "
                  "from the start of a new one, windows after"),
            0);
}

TEST(Quick, ScaleOpensWindows) {
  const Outcome outcome = run_quick("scale");
  ASSERT_EQ(outcome.code, 0);
  const std::string section = "The daemon, 1000 connected clients, 16 of them run: ";
  EXPECT_GT(value(outcome, section + "on one GPU, windows"), 1);
  EXPECT_GT(value(outcome, section + "on 8 GPUs, windows"), 1);
  EXPECT_GT(value(outcome, "The core, 16 GPUs: 1000 tenants, a step"), 0);
}

TEST(Quick, QuotaHasWhatEachGot) {
  const Outcome outcome = run_quick("quota", kShort);
  ASSERT_EQ(outcome.code, 0);
  for (const char* section :
       {"30 + 60, add", "75 + 75, add", "30 + 60, matmul",
        "30 + 60 changed to 60 + 30 while they run", "30 + 60 on each of two GPUs, add"}) {
    EXPECT_GE(value(outcome, std::string(section) + ": total of what was asked"), 0);
  }
  EXPECT_GE(value(outcome, "30 + 60 changed to 60 + 30 while they run: in force after"), 0);
}

TEST(Quick, QuotaBesideHighPriorityHasBoth) {
  const Outcome outcome = run_quick("quota-high", kShort);
  ASSERT_EQ(outcome.code, 0);
  const std::string section = "requests of high priority beside a cap of 50 %: ";
  for (const char* what : {"p99 from arrival", "the capped one, got", "the capped one, billed"}) {
    EXPECT_GE(value(outcome, section + what), 0);
  }
}

TEST(Quick, QuotaAloneHasBothCaps) {
  const Outcome alone = run_quick("quota-alone", kShort);
  ASSERT_EQ(alone.code, 0);
  const Outcome shapes = run_quick("quota-shapes", kShort);
  ASSERT_EQ(shapes.code, 0);
  for (const char* what : {"cap 25 %, got", "cap 75 %, got"}) {
    EXPECT_GE(value(alone, std::string("add, kernels of 1.7 ms: ") + what), 0);
    EXPECT_GE(value(alone, std::string("matmul, kernels of 1.7 ms: ") + what), 0);
    EXPECT_GE(value(shapes, std::string("launch-bound, time billed: ") + what), 0);
    EXPECT_GE(value(shapes, std::string("matmul, kernels of 200 ms: ") + what), 0);
  }
}

TEST(Quick, SeedsGoThroughTasksAndQuotas) {
  const Outcome outcome = run_quick("seeds", kShort);
  ASSERT_EQ(outcome.code, 0);
  EXPECT_GE(value(outcome, "Test 0: one task of 12 GB: under nvshare, of bare"), 0);
  EXPECT_GE(value(outcome,
                  "Test 5: 3 idle tasks of 4 GB on each GPU: "
                  "the last one, times one alone"),
            0);
  EXPECT_GE(value(outcome, "Quota: 25 %, alone: cap 25 % on GPU 0, got"), 0);
  EXPECT_GE(value(outcome, "Quota: 30 and 60 %, a GPU each: cap 60 % on GPU 1, got"), 0);
}

}  // namespace
