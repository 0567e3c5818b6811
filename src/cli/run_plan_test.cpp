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
