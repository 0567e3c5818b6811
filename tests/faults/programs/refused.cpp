// SPDX-License-Identifier: Apache-2.0
// A tenant with work on the GPU that does not end before the test says so, which tries to destroy
// its context all the time: the driver refuses that, because it is the primary one.
#include <atomic>
#include <thread>

#include "tests/cuda_sim/gate.h"
#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

void capture_nothing(const Gpu& gpu) {
  CUstream const stream = gpu.stream();
  CUgraph graph = nullptr;
  NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  say("capturing");
  wait_for_word();
  NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
}

}  // namespace

// refused [captures]: first of all something, until a word.
int refused(int argc, char**) {
  const Driver& driver = sim_test::initialised_driver();
  CUcontext context = nullptr;
  NVS_MUST(driver.cuDevicePrimaryCtxRetain(&context, 0));
  NVS_MUST(driver.cuCtxSetCurrent(context));
  const Gpu gpu(0, context);
  Counted data(gpu, std::uint64_t{4} << 20U);
  CUstream const stream = gpu.stream();
  say("ready");
  wait_for_word();
  sim_test::Gate gate;
  gate.close(gpu, stream);
  data.step(stream);
  if (argc > 0) capture_nothing(gpu);
  std::atomic<bool> is_over{false};
  std::thread opener([&] {
    wait_for_word();
    gate.open();
    is_over = true;
  });
  for (bool is_first = true; !is_over; is_first = false) {
    if (driver.cuCtxDestroy_v2(context) == CUDA_SUCCESS) throw std::runtime_error("destroyed");
    if (is_first) say("refused");
  }
  opener.join();
  data.check(stream);
  return 0;
}

}  // namespace nvs::faults
