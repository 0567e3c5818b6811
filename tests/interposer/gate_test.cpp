// SPDX-License-Identifier: Apache-2.0
// The gate, closed by a test in a process of its own: who waits, who passes, and what holds between
// closing and opening.
#include <ostream>

#include <gtest/gtest.h>

#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

struct GateCase {
  const char* program;
  const char* name;
};

void PrintTo(const GateCase& one, std::ostream* out) { *out << one.program << " " << one.name; }

class Gate : public testing::TestWithParam<GateCase> {};

TEST_P(Gate, Holds) {
  const Outcome outcome =
      run({.program = GetParam().program, .arguments = {GetParam().name}}, Library::test);
  EXPECT_EQ(outcome.output, "ok\n") << outcome.errors;
  EXPECT_EQ(outcome.status, 0);
}

constexpr GateCase kCases[] = {
    {"gate", "waits_and_goes_on"},
    {"gate", "other_calls_at_the_gate"},
    {"gate", "captures_pass"},
    {"gate", "other_gpus_are_free"},
    {"gate", "close_waits_for_those_inside"},
    {"gate", "close_gives_up"},
    {"gate", "close_gives_up_on_waiters_too"},
    {"gate", "fork_leaves_the_child_free"},
    {"gate", "fork_from_inside"},
    {"gate_endings", "exit_inside"},
    {"gate_endings", "cancel_deferred"},
    {"gate_endings", "cancel_at_once"},
    {"gate_endings", "destructor_at_the_gate"},
    {"gate_endings", "signal_at_the_gate"},
    {"gate_endings", "handler_launches_at_the_gate"},
    {"gate_endings", "stopped_at_the_gate"},
    {"gate_endings", "jump_out_then_call_higher_up"},
    {"gate_endings", "jump_out_then_call_further_down"},
    {"gate_endings", "handler_on_another_stack"},
    {"gate_hammer", "with_membarrier"},
    {"gate_hammer", "without_membarrier"},
    {"gate_hammer", "slow_stores_with_membarrier"},
    {"gate_hammer", "slow_stores_without_membarrier"},
    {"gate_hammer", "with_new_threads"},
    {"gate_hammer", "with_a_crowd"},
};

INSTANTIATE_TEST_SUITE_P(AllCases, Gate, testing::ValuesIn(kCases), [](const auto& one) {
  return std::string(one.param.program) + "_" + one.param.name;
});

}  // namespace
}  // namespace nvs::interposer_test
