// SPDX-License-Identifier: Apache-2.0
// Processes, threads and signals in all their ways of coming and going, around calls of the driver.
#include <gtest/gtest.h>

#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

Outcome same(const std::string& program, const std::string& name) {
  return same_as_alone({.program = program, .arguments = {name}});
}

TEST(Processes, Fork) {
  EXPECT_TRUE(is_hooked(same("processes", "fork_after_use")));
  same("processes", "fork_before_use");
  same("processes", "fork_from_a_thread");
}

TEST(Processes, ForkWithThreadsInsideCalls) {
  const Outcome with = same("processes", "fork_while_busy");
  EXPECT_NE(with.output.find("30 children"), std::string::npos) << with.output;
  same("processes", "fork_inside_a_call");
}

TEST(Processes, AnotherProgram) {
  for (const char* name : {"run_another", "vfork_another", "spawn_another"}) {
    const Outcome with = same("processes", name);
    EXPECT_NE(with.output.find("new program: 0 0 0, 1 launch"), std::string::npos) << with.output;
    EXPECT_TRUE(is_hooked(with));
  }
}

TEST(Threads, EndInsideACall) {
  const Outcome with = same("threads", "exit_inside_a_call");
  EXPECT_EQ(with.status, 0);
  EXPECT_TRUE(is_hooked(with));
}

TEST(Threads, ManyShortLives) {
  EXPECT_EQ(same("threads", "many_short_lives").output, "20000 launches\n");
}

TEST(Threads, ManyAtOnce) {
  const Outcome with = same("threads", "many_at_once");
  EXPECT_EQ(with.output, "all launched: 1, wrong: 0, inside 0\n") << with.evidence;
}

TEST(Threads, DestructorsThatCallTheDriver) { same("threads", "end_of_threads"); }

TEST(Threads, CallsWhileTheProgramEnds) {
  EXPECT_EQ(same("threads", "end_of_program").status, 6);
  EXPECT_EQ(same("threads", "exit_from_thread").status, 7);
  EXPECT_EQ(same("threads", "main_thread_leaves").status, 8);
}

TEST(Threads, CancelledInsideACall) {
  EXPECT_EQ(same("threads", "cancel_deferred").status, 0);
  EXPECT_EQ(same("threads", "cancel_at_once").status, 0);
}

TEST(Signals, AtEveryMoment) { same("signals", "every_moment"); }

TEST(Signals, CallsInsideOfCalls) {
  EXPECT_TRUE(is_hooked(same("signals", "handler_launches")));
  same("signals", "nested_calls");
}

TEST(Signals, JumpOutOfACall) { EXPECT_EQ(same("signals", "jump_out_of_a_call").status, 0); }

TEST(Signals, ProgramsDieOfThemAsTheyWouldAlone) {
  EXPECT_LT(same("signals", "segmentation").status, 0);
  EXPECT_LT(same("signals", "abortion").status, 0);
  EXPECT_LT(same("signals", "termination").status, 0);
}

}  // namespace
}  // namespace nvs::interposer_test
