// SPDX-License-Identifier: Apache-2.0
// Events: order across streams, contexts and GPUs, and the times between them.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gate.h"
#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kEventFloats = 1024;
constexpr std::uint64_t kWhile = 5'000'000;

TEST(Event, WaitOrdersTwoStreams) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream first = gpu.stream();
    const CUstream second = gpu.stream();
    const CUevent event = gpu.event();
    const CUdeviceptr data = gpu.alloc(kEventFloats * sizeof(float));
    NVS_MUST(gpu.spin(kWhile, first));
    NVS_MUST(gpu.fill(data, 1, kEventFloats, first));
    NVS_MUST(gpu->cuEventRecord(event, first));
    NVS_MUST(gpu->cuStreamWaitEvent(second, event, 0));
    NVS_MUST(gpu.step(data, 1, kEventFloats, second));
    NVS_MUST(gpu->cuStreamSynchronize(second));
    EXPECT_EQ(gpu.read(data, 1).front(), 2);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  });
}

TEST(Event, WaitMeansTheLastRecordBeforeIt) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream first = gpu.stream();
    const CUstream second = gpu.stream();
    const CUevent event = gpu.event();
    EXPECT_EQ(gpu->cuEventQuery(event), CUDA_SUCCESS) << "never recorded counts as done";
    NVS_MUST(gpu->cuEventRecord(event, first));
    NVS_MUST(gpu->cuStreamWaitEvent(second, event, 0));
    Gate gate;
    gate.close(gpu, first);
    NVS_MUST(gpu->cuEventRecord(event, first));
    EXPECT_EQ(gpu->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(gpu->cuStreamSynchronize(second), CUDA_SUCCESS) << "it waits for the first record";
    gate.open();
    EXPECT_EQ(gpu->cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(gpu->cuEventQuery(event), CUDA_SUCCESS);
  });
}

// A chain of steps and fills from one context to the other, on one GPU or on two.
void chain_contexts(int second_device) {
  const Gpu first(0);
  const CUstream stream = first.stream();
  const CUevent event = first.event();
  const Gpu second(second_device);
  const CUstream other = second.stream();
  const CUdeviceptr data = second.alloc(kEventFloats * sizeof(float));

  first.make_current();
  const CUdeviceptr source = first.filled(kEventFloats, 4);
  Gate gate;
  gate.close(first, stream);
  NVS_MUST(first.step(source, 1, kEventFloats, stream));
  NVS_MUST(first->cuEventRecord(event, stream));

  second.make_current();
  NVS_MUST(second->cuStreamWaitEvent(other, event, 0));
  NVS_MUST(second->cuMemcpyPeerAsync(data, second.context(), source, first.context(),
                                     kEventFloats * 4, other));
  NVS_MUST(second.step(data, 1, kEventFloats, other));
  // What could overtake the gate has done so after this.
  NVS_MUST(second.spin(kWhile));
  NVS_MUST(second->cuStreamSynchronize(nullptr));
  gate.open();
  NVS_MUST(second->cuStreamSynchronize(other));
  EXPECT_EQ(second.read(data, 1).front(), 6);
  EXPECT_EQ(second.read(data, kEventFloats).back(), 4)
      << "kernels leave what is outside of stripes";
  EXPECT_EQ(second.sim().cusimViolationCount(), 0U);
}

TEST(Event, WaitOrdersTwoContextsOfAGpu) {
  SimMachine machine;
  run_process(machine, [](Line&) { chain_contexts(0); });
}

TEST(Event, WaitOrdersTwoGpus) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
  run_process(machine, [](Line&) { chain_contexts(1); });
}

TEST(Event, StreamOfAnotherContextWaitsAsLongAsItMust) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu first;
    const CUstream stream = first.stream();
    const CUevent event = first.event();
    Gate gate;
    gate.close(first, stream);
    NVS_MUST(first->cuEventRecord(event, stream));
    const Gpu second;
    const CUstream other = second.stream();
    NVS_MUST(second->cuStreamWaitEvent(other, event, 0));
    NVS_MUST(second.spin(1000, other));
    NVS_MUST(second.spin(1000, nullptr));
    EXPECT_EQ(second->cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(second->cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_EQ(second->cuStreamSynchronize(other), CUDA_SUCCESS);
  });
}

TEST(Event, ElapsedTimesArePositiveAndAddUp) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    std::vector<CUevent> events;
    Gate gate;
    gate.close(gpu, stream);
    for (int i = 0; i < 6; ++i) {
      events.push_back(gpu.event());
      NVS_MUST(gpu->cuEventRecord(events.back(), stream));
      NVS_MUST(gpu.spin(1'000'000, stream));
    }
    float early = 0;
    EXPECT_EQ(gpu->cuEventElapsedTime_v2(&early, events.front(), events.back()),
              CUDA_ERROR_NOT_READY);
    gate.open();
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    float sum = 0;
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      float part = 0;
      NVS_MUST(gpu->cuEventElapsedTime_v2(&part, events[i], events[i + 1]));
      EXPECT_GT(part, 0);
      sum += part;
    }
    float whole = 0;
    NVS_MUST(gpu->cuEventElapsedTime_v2(&whole, events.front(), events.back()));
    EXPECT_NEAR(whole, sum, 1e-4 * sum);
  });
}

}  // namespace
}  // namespace nvs::sim_test
