// SPDX-License-Identifier: Apache-2.0
// What waits for what among streams. Steps and fills do not commute, so a wrong order is a wrong
// number; where nothing may wait, a closed gate shows that nothing does.
#include <atomic>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gate.h"
#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kStreamFloats = 1024;
constexpr std::uint64_t kStreamWhile =
    5'000'000;  // long enough to be overtaken if the order is wrong

TEST(Stream, WorkOfOneStreamRunsInOrder) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = gpu.filled(kStreamFloats, 0);
    const std::vector<float> hundred(kStreamFloats, 100);
    std::vector<float> seen(kStreamFloats);
    NVS_MUST(gpu.spin(kStreamWhile, stream));
    NVS_MUST(gpu.step(data, 7, kStreamFloats, stream));
    NVS_MUST(gpu->cuMemcpyHtoDAsync_v2(data, hundred.data(), kStreamFloats * 4, stream));
    NVS_MUST(gpu.step(data, 1, kStreamFloats, stream));
    NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(seen.data(), data, kStreamFloats * 4, stream));
    NVS_MUST(gpu->cuMemsetD32Async(data, 0, kStreamFloats, stream));
    NVS_MUST(gpu.step(data, 2, kStreamFloats, stream));
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    EXPECT_EQ(seen.front(), 101);
    EXPECT_EQ(gpu.read(data, 1).front(), 2);
  });
}

// Runs something that nothing orders: what could overtake the gate has done so afterwards.
void let_others_pass(const Gpu& gpu) {
  const CUstream free = gpu.stream(CU_STREAM_NON_BLOCKING);
  NVS_MUST(gpu.spin(kStreamWhile, free));
  NVS_MUST(gpu->cuStreamSynchronize(free));
}

// A fill on the first stream, behind a gate, and a step on the second, which must wait for it.
void expect_second_waits(const Gpu& gpu, CUstream first, CUstream second) {
  const CUdeviceptr data = gpu.filled(kStreamFloats, 0);
  Gate gate;
  gate.close(gpu, first);
  NVS_MUST(gpu.fill(data, 5, kStreamFloats, first));
  NVS_MUST(gpu.step(data, 1, kStreamFloats, second));
  let_others_pass(gpu);
  gate.open();
  NVS_MUST(gpu->cuStreamSynchronize(second));
  EXPECT_EQ(gpu.read(data, 1).front(), 6);
}

TEST(Stream, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream blocking = gpu.stream(CU_STREAM_DEFAULT);
    expect_second_waits(gpu, blocking, nullptr);
    expect_second_waits(gpu, nullptr, blocking);
  });
}

TEST(Stream, NonBlockingStreamIgnoresTheLegacyStream) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream free = gpu.stream(CU_STREAM_NON_BLOCKING);
    const CUstream bound = gpu.stream(CU_STREAM_DEFAULT);
    const CUdeviceptr data = gpu.filled(kStreamFloats, 0);
    Gate gate;
    gate.close(gpu, nullptr);
    NVS_MUST(gpu.step(data, 1, kStreamFloats, bound));
    NVS_MUST(gpu.fill(data, 5, kStreamFloats, free));
    NVS_MUST(gpu->cuStreamSynchronize(free));
    EXPECT_EQ(gpu->cuStreamQuery(bound), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(gpu->cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    gate.open();
    NVS_MUST(gpu->cuStreamSynchronize(bound));
    EXPECT_EQ(gpu.read(data, 1).front(), 6);
  });
}

TEST(Stream, LegacyStreamDoesNotWaitForANonBlockingStream) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUstream free = gpu.stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr data = gpu.filled(kStreamFloats, 0);
    Gate gate;
    gate.close(gpu, free);
    NVS_MUST(gpu.step(data, 1, kStreamFloats, nullptr));
    NVS_MUST(gpu->cuStreamSynchronize(nullptr));
    EXPECT_EQ(gpu->cuStreamQuery(free), CUDA_ERROR_NOT_READY);
    gate.open();
    NVS_MUST(gpu->cuCtxSynchronize());
  });
}

TEST(Stream, PerThreadDefaultStreamsAreApartFromEachOther) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kStreamFloats, 0);
    Gate gate;
    gate.close(gpu, CU_STREAM_PER_THREAD);
    NVS_MUST(gpu.step(data, 1, kStreamFloats, CU_STREAM_PER_THREAD));
    std::thread([&] {
      gpu.make_current();
      NVS_MUST(gpu.fill(data, 5, kStreamFloats, CU_STREAM_PER_THREAD));
      EXPECT_EQ(gpu->cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    }).join();
    EXPECT_EQ(gpu->cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
    gate.open();
    NVS_MUST(gpu->cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT_EQ(gpu.read(data, 1).front(), 6);
  });
}

TEST(Stream, LegacyStreamWaitsForPerThreadStreamsAndTheyForIt) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    expect_second_waits(gpu, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY);
    expect_second_waits(gpu, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD);
  });
}

// The variants of the entry points change what stream 0 means, and nothing else.
TEST(Stream, PerThreadVariantsTakeStreamZeroForTheThreadsOwn) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    Gate gate;
    gate.close(gpu, CU_STREAM_PER_THREAD);
    EXPECT_EQ(gpu->cuStreamQuery_ptsz(nullptr), CUDA_ERROR_NOT_READY);
    std::thread([&] {
      gpu.make_current();
      EXPECT_EQ(gpu->cuStreamQuery_ptsz(nullptr), CUDA_SUCCESS) << "this thread's is idle";
    }).join();
    gate.open();
    EXPECT_EQ(gpu->cuStreamSynchronize_ptsz(nullptr), CUDA_SUCCESS);
  });
}

struct Journal {
  std::mutex mutex;
  std::vector<int> lines;
};

struct Entry {
  Journal* journal;
  int number;
  static void write(void* data) {
    const auto* entry = static_cast<const Entry*>(data);
    const std::lock_guard guard{entry->journal->mutex};
    entry->journal->lines.push_back(entry->number);
  }
};

TEST(Stream, HostFunctionsRunInStreamOrderBetweenKernels) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    Journal journal;
    std::vector<Entry> entries;
    for (int i = 0; i < 20; ++i) entries.push_back({&journal, i});
    const std::array streams = {gpu.stream(), gpu.stream()};
    const CUevent event = gpu.event();
    // A chain that goes from one stream to the other and back.
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const CUstream stream = streams[i % 2];
      NVS_MUST(gpu->cuStreamWaitEvent(stream, event, 0));
      NVS_MUST(gpu.spin(200'000, stream));
      NVS_MUST(gpu->cuLaunchHostFunc(stream, &Entry::write, &entries[i]));
      NVS_MUST(gpu->cuEventRecord(event, stream));
    }
    NVS_MUST(gpu->cuCtxSynchronize());
    std::vector<int> expected;
    for (int i = 0; i < 20; ++i) expected.push_back(i);
    EXPECT_EQ(journal.lines, expected);
  });
}

TEST(Stream, HostFunctionSeesTheCopyBeforeItAndNotTheOneAfter) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    struct Seen {
      std::vector<float> host = std::vector<float>(kStreamFloats, -1);
      float at_function = 0;
      static void look(void* seen) {
        auto& self = *static_cast<Seen*>(seen);
        self.at_function = self.host.front();
      }
    };
    const Gpu gpu;
    Seen seen;
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = gpu.filled(kStreamFloats, 1);
    NVS_MUST(gpu.spin(kStreamWhile, stream));
    NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(seen.host.data(), data, kStreamFloats * 4, stream));
    NVS_MUST(gpu->cuLaunchHostFunc(stream, &Seen::look, &seen));
    NVS_MUST(gpu.step(data, 1, kStreamFloats, stream));
    NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(seen.host.data(), data, kStreamFloats * 4, stream));
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    EXPECT_EQ(seen.at_function, 1);
    EXPECT_EQ(seen.host.front(), 2);
  });
}

TEST(Stream, HostFunctionMayNotCallTheDriver) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    CUresult inside = CUDA_SUCCESS;
    const auto call = [](void* result) {
      *static_cast<CUresult*>(result) = loaded_driver().cuCtxSynchronize();
    };
    NVS_MUST(gpu->cuLaunchHostFunc(nullptr, call, &inside));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(inside, CUDA_ERROR_NOT_PERMITTED);
  });
}

}  // namespace
}  // namespace nvs::sim_test
