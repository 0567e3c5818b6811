// SPDX-License-Identifier: Apache-2.0
// Several processes on one GPU: each sees what the others hold, and what a process held is free as
// soon as it is gone, however it went.
#include <csignal>
#include <memory>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// A process that holds memory until it is told to go.
std::unique_ptr<SimProcess> holder(const SimMachine& machine, std::size_t bytes) {
  auto process = std::make_unique<SimProcess>(machine, [bytes](Line& line) {
    const Gpu gpu;
    gpu.alloc(bytes);
    line.tell("holds");
    line.expect("go");
  });
  process->line().expect("holds");
  return process;
}

TEST(Sharing, EachProcessSeesWhatTheOthersHold) {
  SimMachine machine;
  SimProcess observer(machine, [](Line& line) {
    const Gpu gpu;
    for (std::string order = line.hear().text; order == "look"; order = line.hear().text) {
      line.tell_value(gpu.free_bytes());
    }
  });
  const auto free_bytes = [&] {
    observer.line().tell("look");
    return observer.line().hear_value<std::size_t>();
  };
  const std::size_t alone = free_bytes();
  auto first = holder(machine, 4 * kMiB);
  const std::size_t with_one = free_bytes();
  auto second = holder(machine, 2 * kMiB);
  const std::size_t with_two = free_bytes();
  // Each has a context too, of the same size.
  const std::size_t context = alone - with_one - 4 * kMiB;
  EXPECT_LT(0U, context);
  EXPECT_LT(context, kMiB);
  EXPECT_EQ(with_one - with_two, 2 * kMiB + context);

  first->line().tell("go");
  EXPECT_EQ(first->wait(), 0);
  EXPECT_EQ(free_bytes(), alone - 2 * kMiB - context);
  second->kill();
  EXPECT_EQ(free_bytes(), alone);
  observer.line().tell("go");
  EXPECT_EQ(observer.wait(), 0) << observer.errors();
}

TEST(Sharing, BooksAddUpToTheByte) {
  SimMachine machine;
  auto first = holder(machine, 3 * kMiB);
  const Books one = machine.books();
  auto second = holder(machine, 3 * kMiB);
  const Books two = machine.books();
  EXPECT_EQ(one.processes, 1U);
  EXPECT_EQ(one.contexts, 1U);
  EXPECT_EQ(two, (Books{2 * one.bytes, 2, 2, 0}));
  second->kill();
  EXPECT_EQ(machine.books(), one);
  first->kill();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Sharing, FullGpuHasRoomAgainWhenAnotherProcessEnds) {
  for (const bool killed : {false, true}) {
    SimMachine machine;
    auto big = holder(machine, 20 * kMiB);
    SimProcess small(machine, [](Line& line) {
      const Gpu gpu;
      CUdeviceptr address = 1;
      EXPECT_EQ(gpu->cuMemAlloc_v2(&address, 15 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(address, 0U);
      const CUmemAllocationProp prop = vmm_prop(0);
      CUmemGenericAllocationHandle handle = 0;
      EXPECT_EQ(gpu->cuMemCreate(&handle, 15 * kMiB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
      // What fits is still given, and the context lives on.
      NVS_MUST(gpu->cuMemFree_v2(gpu.filled(1024, 1)));
      line.tell("full");
      line.expect("room");
      EXPECT_EQ(gpu->cuMemAlloc_v2(&address, 15 * kMiB), CUDA_SUCCESS);
    });
    small.line().expect("full");
    if (killed) {
      big->kill();
    } else {
      big->line().tell("go");
      EXPECT_EQ(big->wait(), 0);
    }
    small.line().tell("room");
    EXPECT_EQ(small.wait(), 0) << small.errors();
    EXPECT_EQ(machine.books(), Books{});
  }
}

TEST(Sharing, ZombieHoldsNothing) {
  SimMachine machine;
  auto process = holder(machine, 4 * kMiB);
  process->send(SIGKILL);
  // Waited for, but not reaped: it stays in the process table.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process->pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Sharing, ContextTakesMemoryAndGivesItBack) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    CUcontext second = nullptr;
    NVS_MUST(gpu->cuCtxCreate_v2(&second, 0, 0));
    gpu.alloc(kMiB);
    const std::size_t with_second = gpu.free_bytes();
    EXPECT_LT(with_second, before - kMiB);
    NVS_MUST(gpu->cuCtxDestroy_v2(second));
    gpu.make_current();
    EXPECT_EQ(gpu.free_bytes(), before);
  });
}

TEST(Sharing, LastContextThatFitsAndTheOneThatDoesNot) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    gpu.alloc(gpu.free_bytes() - 16 * gpu.granularity());
    CUcontext more = nullptr;
    EXPECT_EQ(gpu->cuCtxCreate_v2(&more, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    unsigned contexts = 0;
    unsigned processes = 0;
    unsigned long long bytes = 0;
    EXPECT_EQ(gpu.sim().cusimLedger(0, &bytes, &processes, &contexts), 0);
    EXPECT_EQ(contexts, 1U) << "the one that failed counts for nothing";
  });
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Sharing, NewProcessAfterAKilledMachineStartsFromScratch) {
  SimMachine machine;
  auto process = holder(machine, 4 * kMiB);
  process->kill();
  EXPECT_TRUE(machine.segment_exists()) << "nobody was there to remove it";
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.read(gpu.filled(1024, 2), 1).front(), 2);
    unsigned processes = 0;
    EXPECT_EQ(gpu.sim().cusimLedger(0, nullptr, &processes, nullptr), 0);
    EXPECT_EQ(processes, 1U);
  });
}

}  // namespace
}  // namespace nvs::sim_test
