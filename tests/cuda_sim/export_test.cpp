// SPDX-License-Identifier: Apache-2.0
// VMM memory handed to another process as a file descriptor: the same bytes on both sides, charged
// once, and there until the last process that holds it is gone.
#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kExportFloats = kBytes / sizeof(float);
constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Exports memory filled with 5 over `line`, waits for "go" and ends with it still mapped.
void export_until_told(Line& line) {
  const Gpu gpu;
  const auto chunk = gpu.map_chunk(kBytes, kFile);
  NVS_MUST(gpu.fill(chunk.address, 5, kExportFloats));
  NVS_MUST(gpu->cuCtxSynchronize());
  int fd = -1;
  NVS_MUST(gpu->cuMemExportToShareableHandle(&fd, chunk.handle, kFile, 0));
  const UniqueFd owner(fd);
  line.tell("memory", fd);
  line.expect("go");
  EXPECT_EQ(gpu.read(chunk.address, 1).front(), 6) << "the importer's step is seen here";
}

struct Imported {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
};

Imported import_memory(const Gpu& gpu, const UniqueFd& fd) {
  Imported imported;
  void* os_handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
  NVS_MUST(gpu->cuMemImportFromShareableHandle(&imported.handle, os_handle, kFile));
  imported.address = gpu.map_handle(imported.handle, kBytes);
  return imported;
}

// Imports what comes over `line`, steps it to 6, and keeps it until told "go".
void import_until_told(Line& line) {
  const Gpu gpu;
  const Message message = line.hear();
  const Imported memory = import_memory(gpu, message.fd);
  EXPECT_EQ(gpu.read(memory.address, kExportFloats).back(), 5);
  NVS_MUST(gpu.step(memory.address, 1, kExportFloats));
  NVS_MUST(gpu->cuCtxSynchronize());
  line.tell("stepped");
  line.expect("go");
  EXPECT_EQ(gpu.read(memory.address, 1).front(), 6) << "whatever became of the exporter";
}

TEST(Export, BothProcessesHaveTheSameMemoryAndItCountsOnce) {
  SimMachine machine;
  SimProcess exporter(machine, export_until_told);
  Message memory = exporter.line().hear();
  const Books before = machine.books();
  SimProcess importer(machine, import_until_told);
  importer.line().tell("memory", memory.fd.get());
  importer.line().expect("stepped");
  const Books shared = machine.books();
  const std::uint64_t context = before.bytes - kBytes;
  EXPECT_EQ(shared.bytes, before.bytes + context) << "the importer adds its context alone";
  exporter.line().tell("go");
  EXPECT_EQ(exporter.wait(), 0) << exporter.errors();
  EXPECT_EQ(machine.books().bytes, before.bytes) << "the importer's context and the memory";
  importer.line().tell("go");
  EXPECT_EQ(importer.wait(), 0) << importer.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Export, MemoryOutlivesAnExporterThatIsKilled) {
  SimMachine machine;
  SimProcess exporter(machine, export_until_told);
  Message memory = exporter.line().hear();
  SimProcess importer(machine, import_until_told);
  importer.line().tell("memory", memory.fd.get());
  importer.line().expect("stepped");
  exporter.kill();
  const Books books = machine.books();
  EXPECT_EQ(books.processes, 1U);
  EXPECT_GT(books.bytes, kBytes);
  importer.line().tell("go");
  EXPECT_EQ(importer.wait(), 0) << importer.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Export, MemoryOfAnImporterThatIsKilledStaysWithTheExporter) {
  SimMachine machine;
  SimProcess exporter(machine, export_until_told);
  Message memory = exporter.line().hear();
  const Books before = machine.books();
  SimProcess importer(machine, import_until_told);
  importer.line().tell("memory", memory.fd.get());
  importer.line().expect("stepped");
  importer.kill();
  EXPECT_EQ(machine.books(), before);
  exporter.line().tell("go");
  EXPECT_EQ(exporter.wait(), 0) << exporter.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Export, DescriptorAloneHoldsNothing) {
  SimMachine machine;
  SimProcess exporter(machine, export_until_told);
  Message memory = exporter.line().hear();
  exporter.kill();
  EXPECT_EQ(machine.books(), Books{});
  run_process(machine, [&](Line&) {
    const Gpu gpu;
    CUmemGenericAllocationHandle handle = 0;
    void* os_handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(memory.fd.get()));
    EXPECT_NE(gpu->cuMemImportFromShareableHandle(&handle, os_handle, kFile), CUDA_SUCCESS);
  });
}

TEST(Export, ReleasedAndUnmappedMemoryIsFreeWhenBothHaveLetGo) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    const auto chunk = gpu.map_chunk(kBytes, kFile);
    EXPECT_EQ(gpu.free_bytes(), before - kBytes);
    int fd = -1;
    NVS_MUST(gpu->cuMemExportToShareableHandle(&fd, chunk.handle, kFile, 0));
    const UniqueFd owner(fd);
    EXPECT_EQ(gpu.free_bytes(), before - kBytes) << "exporting costs nothing";
    const Imported again = import_memory(gpu, owner);
    EXPECT_EQ(gpu.free_bytes(), before - kBytes) << "nor does importing";
    NVS_MUST(gpu.fill(chunk.address, 5, kExportFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
    gpu.unmap_chunk(chunk);
    EXPECT_EQ(gpu.free_bytes(), before - kBytes) << "the imported handle still holds it";
    EXPECT_EQ(gpu.read(again.address, 1).front(), 5);
    gpu.unmap_chunk({again.address, kBytes, again.handle});
    EXPECT_EQ(gpu.free_bytes(), before);
  });
}

TEST(Export, NeitherPlainFilesNorUnexportableMemory) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto chunk = gpu.map_chunk(kBytes);
    int fd = -1;
    EXPECT_EQ(gpu->cuMemExportToShareableHandle(&fd, chunk.handle, kFile, 0),
              CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_NE(gpu->cuMemImportFromShareableHandle(&handle, nullptr, kFile), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace nvs::sim_test
