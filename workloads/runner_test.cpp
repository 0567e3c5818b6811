// SPDX-License-Identifier: Apache-2.0
// The runner against shell scripts in the workload's place: they speak its protocol on
// descriptor 3.
#include "workloads/runner.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::workloads {
namespace {

constexpr const char* kReady = R"(
echo '{"event":"ready","gpu_name":"fake","bytes":42,"prepare_seconds":0.5}' >&3
read start <&3
)";
constexpr const char* kPass = R"(
echo '{"event":"result","pass":true,"iterations":7,"seconds":2,"rate":3.5,' \
  '"verify_seconds":0,"message":""}' >&3
)";

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() : folder_(::testing::TempDir() + "runner_test." + std::to_string(::getpid())) {
    ::mkdir(folder_.c_str(), 0700);
  }
  ~RunnerTest() override {
    for (const std::string& path : files_) ::unlink(path.c_str());
    ::rmdir(folder_.c_str());
  }

  // The script sees the workload's arguments as $1 and on.
  RunnerOptions running(const std::string& script) {
    const std::string path = folder_ + "/workload" + std::to_string(files_.size());
    files_.push_back(path);
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0700);
    RunnerOptions options;
    options.workload_program = path;
    return options;
  }

  std::string folder_;
  std::vector<std::string> files_;
};

TenantSpec tenant(const std::string& label, const std::string& workload = "add") {
  return {.label = label, .gpu = 1, .arguments = {workload}, .environment = {}};
}

TEST_F(RunnerTest, CollectsResults) {
  const auto tenants =
      run_tenants({tenant("one"), tenant("two")}, running(std::string(kReady) + kPass));
  ASSERT_TRUE(tenants.has_value());
  ASSERT_EQ(tenants->size(), 2u);
  EXPECT_EQ(tenants->at(0).spec.label, "one");
  EXPECT_EQ(tenants->at(0).ready.bytes, 42u);
  for (const Tenant& each : *tenants) {
    EXPECT_EQ(each.phase, Phase::kEnded);
    EXPECT_TRUE(each.result.pass);
    EXPECT_EQ(each.result.iterations, 7u);
  }
}

TEST_F(RunnerTest, PassesArgumentsAndEnvironment) {
  TenantSpec spec = tenant("label");
  spec.environment = {"COLOUR=green", "HOME=/nowhere"};
  const auto tenants =
      run_tenants({spec}, running(std::string("echo \"$* $COLOUR $HOME\"\n") + kReady + kPass));
  ASSERT_TRUE(tenants.has_value());
  EXPECT_EQ(
      tenants->at(0).output,
      "add --name label --device 1 --progress none --status-fd 3 --start-fd 3 green /nowhere\n");
}

TEST_F(RunnerTest, StartsAllAtOnceWhenTheLastIsReady) {
  const auto tenants =
      run_tenants({tenant("fast", "0"), tenant("slow", "0.3")},
                  running(std::string("sleep $1\n") + kReady + "echo $start\n" + kPass));
  ASSERT_TRUE(tenants.has_value());
  EXPECT_FALSE(tenants->at(0).output.empty());
  EXPECT_EQ(tenants->at(0).output, tenants->at(1).output);
}

TEST_F(RunnerTest, TellsHowATenantDiedAndGoesOnWithTheOthers) {
  const auto tenants = run_tenants(
      {tenant("good", "true"), tenant("exits", "exit 3"), tenant("killed", "kill -9 $$")},
      running(std::string("echo complaint >&2\neval \"$1\"\n") + kReady + kPass));
  ASSERT_TRUE(tenants.has_value());
  EXPECT_TRUE(tenants->at(0).result.pass);
  EXPECT_FALSE(tenants->at(1).result.pass);
  EXPECT_EQ(tenants->at(1).result.message, "the process ended with code 3");
  EXPECT_EQ(tenants->at(1).output, "complaint\n");
  EXPECT_EQ(tenants->at(2).result.message, "the process was killed by signal 9 (Killed)");
}

TEST_F(RunnerTest, TellsThatTheProgramIsNotThere) {
  RunnerOptions options;
  options.workload_program = folder_ + "/absent";
  const auto tenants = run_tenants({tenant("one")}, options);
  ASSERT_TRUE(tenants.has_value());
  EXPECT_FALSE(tenants->at(0).result.pass);
  EXPECT_NE(tenants->at(0).output.find("cannot execute"), std::string::npos);
}

TEST_F(RunnerTest, KillsWhatTakesTooLong) {
  RunnerOptions options = running(std::string(kReady) + "sleep 1000\n");
  options.timeout_seconds = 0.3;
  const auto tenants = run_tenants({tenant("one")}, options);
  ASSERT_TRUE(tenants.has_value());
  EXPECT_NE(tenants->at(0).result.message.find("killed"), std::string::npos);
}

TEST_F(RunnerTest, KillsAllWhenCancelled) {
  // The process writes its number, and its child's, before it sleeps.
  RunnerOptions options = running(std::string(kReady) + "sleep 60 & echo $$ $!; wait\n");
  std::string output;
  options.on_update = [&](std::span<const Tenant> tenants) { output = tenants[0].output; };
  options.is_cancelled = [&] { return !output.empty(); };
  const auto tenants = run_tenants({tenant("one")}, options);
  ASSERT_TRUE(tenants.has_value());
  EXPECT_EQ(tenants->at(0).result.message, "cancelled");
  EXPECT_NE(::kill(std::atoi(output.c_str()), 0), 0);
}

TEST_F(RunnerTest, ReportsPhasesInOrder) {
  std::vector<Phase> phases;
  // It ends once it was seen verifying.
  RunnerOptions options = running(
      std::string(kReady) +
      R"(echo '{"event":"progress","done":1,"total":2,"fraction":0.5,"seconds":1,"rate":1}' >&3
         echo '{"event":"verifying","done":2,"total":2,"fraction":1,"seconds":2,"rate":1}' >&3
         until [ -e "$0.seen" ]; do sleep 0.01; done
)" + kPass);
  const std::string seen = options.workload_program + ".seen";
  files_.push_back(seen);
  options.on_update = [&](std::span<const Tenant> tenants) {
    if (phases.empty() || phases.back() != tenants[0].phase) phases.push_back(tenants[0].phase);
    if (phases.back() == Phase::kVerifying) std::ofstream{seen};
  };
  ASSERT_TRUE(run_tenants({tenant("one")}, options).has_value());
  EXPECT_EQ(phases,
            (std::vector{Phase::kStarting, Phase::kRunning, Phase::kVerifying, Phase::kEnded}));
}

}  // namespace
}  // namespace nvs::workloads
