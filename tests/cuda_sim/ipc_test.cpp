// SPDX-License-Identifier: Apache-2.0
// Legacy IPC: plain memory passed to another process as 64 bytes of text.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kIpcBytes = 1 << 20;
constexpr std::size_t kIpcFloats = kIpcBytes / sizeof(float);

CUdeviceptr open_handle(const Gpu& gpu, const CUipcMemHandle& handle) {
  CUdeviceptr address = 0;
  NVS_MUST(gpu->cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return address;
}

// Exports memory filled with 5, then reports the first value whenever asked.
void export_and_report(Line& line) {
  const Gpu gpu;
  const CUdeviceptr data = gpu.filled(kIpcFloats, 5);
  CUipcMemHandle handle{};
  NVS_MUST(gpu->cuIpcGetMemHandle(&handle, data));
  line.tell_value(handle);
  for (std::string order = line.hear().text; order == "look"; order = line.hear().text) {
    line.tell_value(gpu.read(data, kIpcFloats).front());
  }
}

TEST(Ipc, WritesAreSeenBothWays) {
  SimMachine machine;
  SimProcess exporter(machine, export_and_report);
  const auto handle = exporter.line().hear_value<CUipcMemHandle>();
  SimProcess importer(machine, [&](Line& line) {
    const Gpu gpu;
    const CUdeviceptr data = open_handle(gpu, handle);
    EXPECT_EQ(gpu.read(data, kIpcFloats).back(), 5);
    NVS_MUST(gpu.step(data, 2, kIpcFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
    line.tell("stepped");
    line.expect("close");
    NVS_MUST(gpu->cuIpcCloseMemHandle(data));
    EXPECT_EQ(gpu->cuIpcCloseMemHandle(data), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu.step(data, 1, kIpcFloats));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS) << "closed is unmapped";
  });
  importer.line().expect("stepped");
  exporter.line().tell("look");
  EXPECT_EQ(exporter.line().hear_value<float>(), 7);
  importer.line().tell("close");
  EXPECT_EQ(importer.wait(), 0) << importer.errors();
  exporter.line().tell("look");
  EXPECT_EQ(exporter.line().hear_value<float>(), 7);
  exporter.line().tell("go");
  EXPECT_EQ(exporter.wait(), 0) << exporter.errors();
  EXPECT_EQ(machine.books().bytes, 0U);
}

TEST(Ipc, MemoryOutlivesAnExporterThatIsKilledUntilItIsClosed) {
  SimMachine machine;
  SimProcess exporter(machine, export_and_report);
  const auto handle = exporter.line().hear_value<CUipcMemHandle>();
  SimProcess importer(machine, [&](Line& line) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    const CUdeviceptr data = open_handle(gpu, handle);
    EXPECT_EQ(gpu.free_bytes(), before) << "it is charged once";
    line.tell("open");
    line.expect("killed");
    EXPECT_EQ(gpu.read(data, kIpcFloats).front(), 5);
    const std::size_t open = gpu.free_bytes();
    NVS_MUST(gpu->cuIpcCloseMemHandle(data));
    EXPECT_EQ(gpu.free_bytes(), open + kIpcBytes);
  });
  importer.line().expect("open");
  exporter.kill();
  importer.line().tell("killed");
  EXPECT_EQ(importer.wait(), 0) << importer.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Ipc, HandleOfAProcessThatIsGoneOpensNothing) {
  SimMachine machine;
  SimProcess exporter(machine, export_and_report);
  const auto handle = exporter.line().hear_value<CUipcMemHandle>();
  exporter.kill();
  run_process(machine, [&](Line&) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    CUdeviceptr address = 0;
    EXPECT_NE(gpu->cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
              CUDA_SUCCESS);
    EXPECT_EQ(gpu.free_bytes(), before);
  });
}

TEST(Ipc, SmallAllocationsOfOneBlockAreToldApart) {
  SimMachine machine;
  SimProcess exporter(machine, [](Line& line) {
    const Gpu gpu;
    for (const float value : {1.0F, 2.0F}) {
      CUipcMemHandle handle{};
      NVS_MUST(gpu->cuIpcGetMemHandle(&handle, gpu.filled(64, value)));
      line.tell_value(handle);
    }
    line.expect("go");
  });
  const auto first = exporter.line().hear_value<CUipcMemHandle>();
  const auto second = exporter.line().hear_value<CUipcMemHandle>();
  run_process(machine, [&](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.read(open_handle(gpu, first), 64).back(), 1);
    EXPECT_EQ(gpu.read(open_handle(gpu, second), 64).back(), 2);
  });
  exporter.line().tell("go");
  EXPECT_EQ(exporter.wait(), 0) << exporter.errors();
}

TEST(Ipc, VmmMemoryIsRefused) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    CUipcMemHandle handle{};
    EXPECT_EQ(gpu->cuIpcGetMemHandle(&handle, gpu.map_chunk(kIpcBytes).address),
              CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace nvs::sim_test
