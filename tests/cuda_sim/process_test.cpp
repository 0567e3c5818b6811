// SPDX-License-Identifier: Apache-2.0
// The ways in which processes stop, fork and end while the GPU works for them.
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kProcessFloats = 1024;

// Computes without a pause until told to end.
void saturate(Line& line) {
  const Gpu gpu;
  const CUdeviceptr data = gpu.filled(kProcessFloats, 0);
  std::atomic<bool> told{false};
  line.tell("runs");
  std::thread listener([&] {
    line.hear();
    told.store(true);
  });
  float steps = 0;
  for (; !told.load(); ++steps) {
    // Too long to be run by this thread, and many at once, so that there always is more to do.
    NVS_MUST(gpu.spin(2'000'000));
    NVS_MUST(gpu.step(data, 1, kProcessFloats));
    if (static_cast<int>(steps) % 128 == 0) NVS_MUST(gpu->cuCtxSynchronize());
  }
  NVS_MUST(gpu->cuCtxSynchronize());
  EXPECT_EQ(gpu.read(data, 1).front(), steps) << "no kernel was lost or run twice";
  listener.join();
}

void compute_a_while(Line&) {
  const Gpu gpu;
  const CUdeviceptr data = gpu.filled(kProcessFloats, 0);
  const std::vector<float> zeroes(kProcessFloats);
  for (int i = 0; i < 20; ++i) {
    NVS_MUST(gpu->cuMemcpyHtoD_v2(data, zeroes.data(), kProcessFloats * 4));
    NVS_MUST(gpu.spin(500'000));
    NVS_MUST(gpu.step(data, 1, kProcessFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
  }
  EXPECT_EQ(gpu.read(data, 1).front(), 1);
}

TEST(Process, StoppedProcessHoldsNobodyUp) {
  SimMachine machine;
  SimProcess busy(machine, saturate);
  busy.line().expect("runs");
  for (int round = 0; round < 5; ++round) {
    busy.send(SIGSTOP);
    run_process(machine, compute_a_while);
    busy.send(SIGCONT);
    run_process(machine, compute_a_while);
  }
  busy.line().tell("end");
  EXPECT_EQ(busy.wait(), 0) << busy.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Process, StoppedProcessKeepsItsMemory) {
  SimMachine machine;
  SimProcess process(machine, [](Line& line) {
    const Gpu gpu;
    gpu.alloc(1 << 20);
    line.tell("holds");
    line.expect("go");
  });
  process.line().expect("holds");
  const Books before = machine.books();
  process.send(SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(process.pid(), &status, WUNTRACED), process.pid());
  EXPECT_EQ(machine.books(), before);
  process.send(SIGCONT);
  process.line().tell("go");
  EXPECT_EQ(process.wait(), 0);
}

// What a fork child of an initialised process is told by the driver.
int results_in_fork_child(const Gpu& gpu) {
  int count = 0;
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  const bool refused = gpu->cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                       gpu->cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                       gpu->cuMemAlloc_v2(&address, 4096) == CUDA_ERROR_NOT_INITIALIZED &&
                       gpu->cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
                       gpu.spin(1000) == CUDA_ERROR_NOT_INITIALIZED &&
                       gpu->cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED;
  return refused ? 0 : 1;
}

TEST(Process, ForkChildIsNotInitialisedAndDisturbsNothing) {
  SimMachine machine;
  run_process(machine, [&](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kProcessFloats, 3);
    const auto contexts = [&] {
      unsigned long long bytes = 0;
      unsigned processes = 0;
      unsigned count = 0;
      gpu.sim().cusimLedger(0, &bytes, &processes, &count);
      return std::vector<unsigned long long>{bytes, processes, count};
    };
    const auto before = contexts();
    // With work in flight, an ordinary exit as well as a sudden one.
    for (const bool sudden : {false, true}) {
      NVS_MUST(gpu.spin(20'000'000));
      NVS_MUST(gpu.step(data, 1, kProcessFloats));
      const pid_t child = ::fork();
      if (child == 0) {
        const int result = results_in_fork_child(gpu);
        if (sudden) ::_exit(result);
        std::exit(result);
      }
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
      EXPECT_EQ(contexts(), before);
      NVS_MUST(gpu->cuCtxSynchronize());
    }
    EXPECT_EQ(gpu.read(data, 1).front(), 5);
  });
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Process, ForkBeforeInitialisationIsFree) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    loaded_driver();
    const pid_t child = ::fork();
    const Gpu gpu;
    const bool right = gpu.read(gpu.filled(kProcessFloats, 3), 1).front() == 3;
    if (child == 0) std::exit(right ? 0 : 1);
    EXPECT_TRUE(right);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
  EXPECT_EQ(machine.books(), Books{});
}

enum class Ending { from_main, from_thread, sudden };

// Leaves kernels, copies and host functions in flight. Each stream has memory of its own: nothing
// orders one stream's work before another's.
void end_with_work_in_flight(Ending ending) {
  constexpr std::size_t kStreams = 8;
  constexpr std::size_t kMany = 1 << 14;
  constexpr std::size_t kBytes = kMany * sizeof(float);
  const Gpu gpu;
  const CUdeviceptr all_data = gpu.filled(kStreams * kMany, 0);
  void* all_host = nullptr;
  NVS_MUST(gpu->cuMemHostAlloc(&all_host, kStreams * kBytes, 0));
  for (std::size_t i = 0; i < kStreams; ++i) {
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = all_data + i * kBytes;
    void* host = static_cast<std::byte*>(all_host) + i * kBytes;
    for (int j = 0; j < 20; ++j) {
      NVS_MUST(gpu.spin(3'000'000, stream));
      NVS_MUST(gpu.step(data, 1, kMany, stream));
      NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(host, data, kBytes, stream));
      NVS_MUST(gpu->cuLaunchHostFunc(
          stream, [](void*) {}, nullptr));
      NVS_MUST(gpu->cuMemcpyHtoDAsync_v2(data, host, kBytes, stream));
    }
  }
  if (ending == Ending::from_thread) std::thread([] { std::exit(0); }).join();
  if (ending == Ending::sudden) ::_exit(0);
}

TEST(Process, ExitWithWorkInFlightIsClean) {
  for (const Ending ending : {Ending::from_main, Ending::from_thread, Ending::sudden}) {
    for (int round = 0; round < 3; ++round) {
      SimMachine machine;
      const std::string errors =
          run_process(machine, [&](Line&) { end_with_work_in_flight(ending); });
      EXPECT_EQ(errors, "");
      EXPECT_EQ(machine.books(), Books{});
    }
  }
}

TEST(Process, NextProcessFindsCleanBooksAfterAnExitWithWorkInFlight) {
  SimMachine machine;
  SimProcess witness(machine, [](Line& line) {
    const Gpu gpu;
    line.tell("there");
    line.expect("go");
  });
  witness.line().expect("there");
  const Books before = machine.books();
  for (int round = 0; round < 10; ++round) {
    run_process(machine, [](Line&) {
      const Gpu gpu;
      const CUdeviceptr data = gpu.filled(1 << 18, 0);
      for (int i = 0; i < 50; ++i) NVS_MUST(gpu.step(data, 1, 1 << 18));
      // Its memory is freed by whoever lets go of it last, maybe while the process exits.
      NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
    });
    EXPECT_EQ(machine.books(), before);
  }
  witness.line().tell("go");
  EXPECT_EQ(witness.wait(), 0);
}

}  // namespace
}  // namespace nvs::sim_test
