// SPDX-License-Identifier: Apache-2.0
// Tenants in whose streams the library's marks could do harm: one waits for what comes after it,
// and one is being captured while another thread works.
#include <thread>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = 16'384;
constexpr std::uint64_t kStepNs = 500'000;
constexpr int kSteps = 40;

// The other thread's work on its own default stream: a copy that names no stream, and a fill.
void work_aside(const Gpu& gpu, CUdeviceptr to) {
  const std::vector<char> bytes(kFloats, 1);
  gpu.make_current();
  for (int i = 0; i < kSteps; ++i) {
    NVS_MUST(gpu->cuMemcpyHtoD_v2_ptds(to, bytes.data(), bytes.size()));
    NVS_MUST(gpu->cuMemsetD8Async_ptsz(to, 2, bytes.size(), nullptr));
  }
  NVS_MUST(gpu->cuStreamSynchronize_ptsz(nullptr));
}

}  // namespace

// The first stream waits for a value that is written when more has run on the second one than a
// queue may hold.
int stream_waits(int, char**) {
  const Gpu gpu;
  Counted data(gpu, kFloats);
  CUstream first = gpu.stream();
  CUstream second = gpu.stream();
  const CUdeviceptr word = gpu.filled(1, 0);
  for (std::uint32_t round = 1; round <= 2; ++round) {
    NVS_MUST(gpu->cuStreamWaitValue32_v2(first, word, round, CU_STREAM_WAIT_VALUE_EQ));
    for (int i = 0; i < kSteps; ++i) data.step(second, kStepNs);
    NVS_MUST(gpu->cuStreamSynchronize(second));
    NVS_MUST(gpu->cuStreamWriteValue32_v2(second, word, round, 0));
    NVS_MUST(gpu->cuStreamSynchronize(first));
    say_at(round);
  }
  data.check(second);
  return 0;
}

// Captures that other threads' work must not break, and does not without the library.
int per_thread(int, char**) {
  const Gpu gpu;
  CUstream stream = gpu.stream(CU_STREAM_DEFAULT);
  const CUdeviceptr here = gpu.filled(kFloats, 0);
  const CUdeviceptr there = gpu.filled(kFloats, 0);
  work_aside(gpu, there);  // from here on the queue is bounded
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    CUgraph graph = nullptr;
    NVS_MUST(gpu->cuStreamBeginCapture_v2_ptsz(stream, mode));
    std::thread([&] { work_aside(gpu, there); }).join();
    NVS_MUST(gpu->cuMemsetD8Async_ptsz(here, 1, kFloats, stream));
    NVS_MUST(gpu->cuStreamEndCapture_ptsz(stream, &graph));
    NVS_MUST(gpu->cuGraphDestroy(graph));
    say_at(static_cast<std::uint64_t>(mode) + 1);
  }
  return 0;
}

}  // namespace nvs::faults
