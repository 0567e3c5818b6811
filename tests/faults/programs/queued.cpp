// SPDX-License-Identifier: Apache-2.0
// Captures: one beside work on the GPU that does not end before the test says so, during which
// nobody can wait for that work; and one while memory is away.
#include "tests/cuda_sim/gate.h"
#include "tests/faults/programs/kit.h"

namespace nvs::faults {

// queued
int queued(int, char**) {
  const Gpu gpu;
  Counted data(gpu, std::uint64_t{4} << 20U);
  CUstream const stream = gpu.stream();
  CUstream const captured = gpu.stream();
  data.step(stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  say("ready");
  wait_for_word();
  sim_test::Gate gate;
  gate.close(gpu, stream);
  data.step(stream);
  CUgraph graph = nullptr;
  NVS_MUST(gpu->cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
  say("capturing");
  wait_for_word();
  NVS_MUST(gpu->cuStreamEndCapture(captured, &graph));
  say("captured");
  wait_for_word();
  gate.open();
  data.check(stream);
  return 0;
}

// captured
int captured(int, char**) {
  const Gpu gpu;
  Counted data(gpu, std::uint64_t{4} << 20U);
  Counted filled(gpu, std::uint64_t{4} << 20U);
  CUstream const stream = gpu.stream();
  data.step(stream);
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  say("ready");
  wait_for_word();
  NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  data.step(stream);
  say("kernel");
  NVS_MUST(gpu->cuMemsetD8Async(filled.address(), 0, 1, stream));
  say("fill");
  CUgraph graph = nullptr;
  NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
  CUgraphExec made = nullptr;
  NVS_MUST(gpu->cuGraphInstantiateWithFlags(&made, graph, 0));
  NVS_MUST(gpu->cuGraphLaunch(made, stream));
  data.check(stream);
  return 0;
}

}  // namespace nvs::faults
