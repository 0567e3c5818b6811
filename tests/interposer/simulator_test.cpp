// SPDX-License-Identifier: Apache-2.0
// The library between programs and the simulated driver, NVML included.
#include <gtest/gtest.h>

#include "tests/cuda_sim/sim_fixture.h"
#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

using sim_test::SimMachine;

Command on(const SimMachine& machine, const std::string& program,
           const std::vector<std::string>& arguments) {
  Command command{.program = program, .arguments = arguments, .driver = ""};
  command.environment = machine.settings();
  command.environment["LD_LIBRARY_PATH"] = built("lib/sim");
  return command;
}

TEST(Simulator, ComputesTheSame) {
  const SimMachine machine;
  const Outcome with = same_as_alone(on(machine, "simulator", {"compute"}));
  EXPECT_EQ(with.output, "sum 3072\nsum 5120\n");
  EXPECT_TRUE(is_hooked(with)) << with.evidence;
}

TEST(Simulator, DriverThatWasOpenedByItsPath) {
  const SimMachine machine;
  Command command = on(machine, "simulator", {"compute"});
  command.environment.erase("LD_LIBRARY_PATH");
  command.environment["NVSHARE_CUDA_LIBRARY"] = built("lib/sim/libcuda.so.1");
  EXPECT_TRUE(is_hooked(same_as_alone(command)));
}

TEST(Simulator, ForkChildIsRefusedAsAlone) {
  const SimMachine machine;
  const Outcome with = same_as_alone(on(machine, "simulator", {"fork_after_init"}));
  EXPECT_NE(with.output.find("child: 3 3 3 3 3\n"), std::string::npos) << with.output;
  EXPECT_EQ(with.status, 0);
}

TEST(Simulator, Nvml) {
  for (const char* way : {"link", "dlsym"}) {
    const SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
    const Outcome with = same_as_alone(on(machine, "nvml", {way}));
    EXPECT_NE(with.output.find("count: 0 2\n"), std::string::npos) << with.output;
    EXPECT_TRUE(is_hooked(with)) << with.evidence;
  }
}

}  // namespace
}  // namespace nvs::interposer_test
