// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

constexpr ElfMachine kPlanMachine = {ELFCLASS64, ELFDATA2LSB, EM_X86_64};

RunFacts facts() {
  RunFacts facts{"/l/libnvshare.so",           "", "/here/now", kPlanMachine,
                 {"/bin/p", ElfFile{}, false}, {}};
  facts.target.elf->machine = kPlanMachine;
  facts.target.elf->native = facts.target.elf->has_interpreter = true;
  return facts;
}

RunOptions options() {
  RunOptions options;
  options.command = {"p"};
  return options;
}

using Variables = std::vector<Variable>;

TEST(RunPlan, SetsThePreloadAndNothingElse) {
  const RunPlan plan = plan_run(options(), facts());
  EXPECT_EQ(plan.environment, (Variables{{"LD_PRELOAD", "/l/libnvshare.so"}}));
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(RunPlan, KeepsWhatIsPreloadedAndPutsASanitizerFirst) {
  RunFacts seen = facts();
  seen.inherited_preload = "/a.so";
  seen.target.elf->needed = {"libasan.so.8"};
  EXPECT_EQ(plan_run(options(), seen).environment,
            (Variables{{"LD_PRELOAD", "libasan.so.8:/l/libnvshare.so:/a.so"}}));
}

TEST(RunPlan, DebugSetsItsVariablesWithAnAbsolutePath) {
  RunOptions wanted = options();
  wanted.debug = true;
  EXPECT_EQ(plan_run(wanted, facts()).environment,
            (Variables{{"LD_PRELOAD", "/l/libnvshare.so"}, {"NVSHARE_DEBUG", "1"}}));
  wanted.debug_file = "../f.txt";
  EXPECT_EQ(plan_run(wanted, facts()).environment,
            (Variables{{"LD_PRELOAD", "/l/libnvshare.so"},
                       {"NVSHARE_DEBUG", "1"},
                       {"NVSHARE_DEBUG_FILE", "/here/f.txt"}}));
  wanted.debug_file = "/tmp/f.txt";
  EXPECT_EQ(plan_run(wanted, facts()).environment.back(),
            (Variable{"NVSHARE_DEBUG_FILE", "/tmp/f.txt"}));
}

TEST(RunPlan, SharingNamesTheDaemonAndTheRun) {
  RunFacts seen = facts();
  seen.sharing = {"/f", "00000000000000aa", ""};
  const Variables always = {{"LD_PRELOAD", "/l/libnvshare.so"},
                            {"NVSHARE_FOLDER", "/f"},
                            {"NVSHARE_RUN", "00000000000000aa"}};
  EXPECT_EQ(plan_run(options(), seen).environment, always);
  EXPECT_TRUE(plan_run(options(), seen).warnings.empty());
  RunOptions urgent = options();
  urgent.priority = "high";
  seen.sharing->warning = "careful";
  Variables more = always;
  more.push_back({"NVSHARE_PRIORITY", "high"});
  EXPECT_EQ(plan_run(urgent, seen).environment, more);
  EXPECT_EQ(plan_run(urgent, seen).warnings, std::vector<std::string>{"careful"});
}

// What of the plan is about limits.
Variables limits_in(const RunPlan& plan) {
  Variables limits = plan.environment;
  std::erase_if(limits,
                [](const Variable& item) { return item.name.find("LIMIT") == std::string::npos; });
  return limits;
}

TEST(RunPlan, LimitsGoIntoTheEnvironment) {
  RunOptions wanted = options();
  wanted.memory = "4Gi";
  wanted.cores = "40";
  EXPECT_EQ(limits_in(plan_run(wanted, facts())),
            (Variables{{"NVSHARE_GPU_MEMORY_LIMIT", "4Gi"},
                       {"NVSHARE_GPU_CORE_LIMIT", "40"},
                       {"NVSHARE_LIMITS_OF_RUN", "memory,cores"}}));
  EXPECT_TRUE(limits_in(plan_run(options(), facts())).empty());
  wanted.disable = true;
  EXPECT_TRUE(limits_in(plan_run(wanted, facts())).empty());
}

TEST(RunPlan, SaysWhatNobodyKeeps) {
  RunOptions wanted = options();
  RunFacts seen = facts();
  seen.sharing = {"/f", "00000000000000aa", "", false};
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
  wanted.memory = "4Gi";
  wanted.cores = "40";
  EXPECT_EQ(plan_run(wanted, seen).warnings,
            std::vector<std::string>{"there is no daemon in /f: until one comes, nothing keeps to "
                                     "--memory 4Gi and --cores 40"});
  EXPECT_EQ(limits_in(plan_run(wanted, seen)).size(), 3U) << "one may come";
  seen.sharing->has_daemon = true;
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
  wanted.disable = true;
  wanted.memory.clear();
  wanted.cores.clear();
  seen.sharing.reset();
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
  wanted.priority = "high";
  EXPECT_EQ(plan_run(wanted, seen).warnings,
            std::vector<std::string>{"with --disable nothing keeps to --priority high"});
}

TEST(RunPlan, LimitsOfTheEnvironmentCountMore) {
  RunOptions wanted = options();
  wanted.memory = "4Gi";
  wanted.cores = "40";
  RunFacts seen = facts();
  seen.inherited_memory = "2Gi";
  const RunPlan plan = plan_run(wanted, seen);
  EXPECT_EQ(limits_in(plan),
            (Variables{{"NVSHARE_GPU_CORE_LIMIT", "40"}, {"NVSHARE_LIMITS_OF_RUN", "cores"}}))
      << "each has its own source";
  EXPECT_EQ(plan.warnings,
            std::vector<std::string>{
                "NVSHARE_GPU_MEMORY_LIMIT=2Gi in the environment counts more than --memory 4Gi"});
  seen.inherited_memory = "4Gi";
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
  EXPECT_TRUE(plan_run(options(), seen).warnings.empty());
}

TEST(RunPlan, ALimitThatIsNotUnderstoodGivesWay) {
  RunOptions wanted = options();
  wanted.cores = "40";
  RunFacts seen = facts();
  seen.inherited_cores = "lots";
  const RunPlan plan = plan_run(wanted, seen);
  EXPECT_EQ(limits_in(plan),
            (Variables{{"NVSHARE_GPU_CORE_LIMIT", "40"}, {"NVSHARE_LIMITS_OF_RUN", "cores"}}));
  const std::vector<std::string> warning = {
      "NVSHARE_GPU_CORE_LIMIT=lots in the environment is not understood, and counts for nothing"};
  EXPECT_EQ(plan.warnings, warning);
  EXPECT_EQ(plan_run(options(), seen).warnings, warning);
}

TEST(RunPlan, ARunInsideARunLowersAndNeverRaises) {
  RunOptions wanted = options();
  wanted.memory = "150Mi";
  wanted.cores = "60";
  RunFacts seen = facts();
  seen.inherited_memory = "1Gi";
  seen.inherited_cores = "40";
  for (const char* of_run : {"memory,cores", "1"}) {
    seen.inherited_of_run = of_run;
    const RunPlan plan = plan_run(wanted, seen);
    EXPECT_EQ(limits_in(plan)[0], (Variable{"NVSHARE_GPU_MEMORY_LIMIT", "150Mi"}));
    EXPECT_EQ(plan.warnings,
              std::vector<std::string>{"--cores 60 counts for nothing: the nvshare run around this "
                                       "one has --cores 40, which is less"});
  }
  seen.inherited_of_run = "memory,cores";
  EXPECT_EQ(limits_in(plan_run(wanted, seen)).size(), 1U) << "the rest is said already";
  EXPECT_TRUE(limits_in(plan_run(options(), seen)).empty());
  wanted.cores = "40%";
  wanted.memory = "1024Mi";  // the same
  EXPECT_TRUE(limits_in(plan_run(wanted, seen)).empty());
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
}

// Which is less depends on the GPU.
TEST(RunPlan, BytesAndPercentOfTwoRunsHoldBoth) {
  RunOptions wanted = options();
  wanted.memory = "25%";
  RunFacts seen = facts();
  seen.inherited_memory = "4Gi";
  seen.inherited_of_run = "memory";
  EXPECT_EQ(limits_in(plan_run(wanted, seen)),
            (Variables{{"NVSHARE_GPU_MEMORY_LIMIT", "4Gi and 25%"}}));
  EXPECT_TRUE(plan_run(wanted, seen).warnings.empty());
}

TEST(RunPlan, WhoseALimitIsIsSaidOfEach) {
  RunOptions wanted = options();
  wanted.cores = "20";
  RunFacts seen = facts();
  seen.inherited_memory = "1Gi";
  seen.inherited_of_run = "memory";  // of an outer run
  EXPECT_EQ(
      limits_in(plan_run(wanted, seen)),
      (Variables{{"NVSHARE_GPU_CORE_LIMIT", "20"}, {"NVSHARE_LIMITS_OF_RUN", "memory,cores"}}));
  seen.inherited_of_run = "";  // of the environment
  EXPECT_EQ(limits_in(plan_run(wanted, seen)),
            (Variables{{"NVSHARE_GPU_CORE_LIMIT", "20"}, {"NVSHARE_LIMITS_OF_RUN", "cores"}}));
}

TEST(RunPlan, DisableStillLoadsTheLibrary) {
  RunOptions wanted = options();
  wanted.disable = true;
  EXPECT_EQ(plan_run(wanted, facts()).environment,
            (Variables{{"LD_PRELOAD", "/l/libnvshare.so"}, {"NVSHARE_DISABLE", "1"}}));
}

TEST(RunPlan, AProgramThatCannotBeSharedIsAWarningUnlessSharingIsOff) {
  RunFacts seen = facts();
  seen.target.elf->has_interpreter = false;
  const RunPlan plan = plan_run(options(), seen);
  ASSERT_EQ(plan.warnings.size(), 1u);
  EXPECT_EQ(plan.warnings[0].find("/bin/p cannot be shared: it is statically linked"), 0u);
  RunOptions off = options();
  off.disable = true;
  EXPECT_TRUE(plan_run(off, seen).warnings.empty());
}

}  // namespace
}  // namespace nvs::cli
