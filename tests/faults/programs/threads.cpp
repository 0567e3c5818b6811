// SPDX-License-Identifier: Apache-2.0
// Tenants with several threads, each with a stream of its own: plain launches, or captures that
// become graphs.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = 16'384;
constexpr int kThreads = 6;
constexpr int kLaunches = 10;
constexpr int kCapturedSteps = 3;

struct Lane {
  CUstream stream;
  Counted data;
};

// Each thread goes round until the test says a word. Nothing but rounds happens meanwhile: what
// makes or checks data would break the captures of other threads, with the library or without.
template <class Round>
int run_threads(const Gpu& gpu, int threads, Round round) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<Lane> lanes;
  for (int i = 0; i < threads; ++i) lanes.push_back({gpu.stream(), Counted(gpu, kFloats)});
  const auto run = [&](Lane& lane) {
    try {
      gpu.make_current();
      while (!stop.load()) {
        round(lane.data, lane.stream);
        say_at(rounds.fetch_add(1) + 1);
      }
    } catch (const std::exception& error) {
      say(std::string("failed: ") + error.what());
      std::_Exit(1);
    }
  };
  std::vector<std::thread> all;
  for (Lane& lane : lanes) all.emplace_back([&run, &lane] { run(lane); });
  wait_for_word();
  stop.store(true);
  for (std::thread& thread : all) thread.join();
  for (const Lane& lane : lanes) lane.data.check(lane.stream);
  return 0;
}

CUgraphExec captured(const Gpu& gpu, Counted& data, CUstream stream, CUstreamCaptureMode mode) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, mode));
  for (int i = 0; i < kCapturedSteps; ++i) {
    NVS_MUST(gpu.step(data.address(), 1, kFloats, stream));
    NVS_MUST(gpu.spin(100'000, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // windows come and go meanwhile
  }
  NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
  NVS_MUST(gpu->cuGraphInstantiateWithFlags(&exec, graph, 0));
  NVS_MUST(gpu->cuGraphDestroy(graph));
  return exec;
}

}  // namespace

int streams(int, char**) {
  const Gpu gpu;
  return run_threads(gpu, kThreads, [&](Counted& data, CUstream stream) {
    for (int i = 0; i < kLaunches; ++i) data.step(stream, 200'000);
    NVS_MUST(gpu->cuStreamSynchronize(stream));
  });
}

// graphs THREADS: in the mode that forbids the capturing thread alone what would break a capture;
// with one thread in the mode that forbids it all threads, the library's own included.
int graphs(int argc, char** argv) {
  const Gpu gpu;
  const int threads = argc > 0 ? static_cast<int>(number(argv[0])) : 1;
  const CUstreamCaptureMode mode =
      threads > 1 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_GLOBAL;
  return run_threads(gpu, threads, [&](Counted& data, CUstream stream) {
    CUgraphExec const exec = captured(gpu, data, stream, mode);
    for (int i = 0; i < kLaunches; ++i) {
      NVS_MUST(gpu->cuGraphLaunch(exec, stream));
      for (int step = 0; step < kCapturedSteps; ++step) data.note_step();
    }
    NVS_MUST(gpu->cuStreamSynchronize(stream));
    NVS_MUST(gpu->cuGraphExecDestroy(exec));
  });
}

}  // namespace nvs::faults
