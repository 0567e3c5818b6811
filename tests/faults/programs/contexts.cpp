// SPDX-License-Identifier: Apache-2.0
// Tenants whose contexts come and go with work in them, so that some go while the daemon waits for
// their drain; and one that holds its context all the time, and retains and releases it besides.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/faults/programs/kit.h"
#include "workloads/kernels/ptx.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = 16'384;
constexpr std::uint64_t kNs = 1'000'000;
constexpr int kSteps = 6;

// Every other context goes with its work under way.
void own_context(std::uint64_t round) {
  const Gpu gpu;
  Counted data(gpu, kFloats);
  for (int i = 0; i < kSteps; ++i) data.step(nullptr, kNs);
  if (round % 2 == 0) data.check(nullptr);
  NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
}

void primary_context(std::uint64_t round) {
  const Driver& driver = sim_test::initialised_driver();
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  NVS_MUST(driver.cuDevicePrimaryCtxRetain(&context, 0));
  NVS_MUST(driver.cuCtxSetCurrent(context));
  NVS_MUST(driver.cuModuleLoadData(&module, workloads::kernels::ptx()));
  NVS_MUST(driver.cuModuleGetFunction(&spin, module, "nvs_spin"));
  std::uint64_t ns = kNs;
  void* parameters[] = {&ns};
  for (int i = 0; i < kSteps; ++i) {
    NVS_MUST(driver.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  }
  NVS_MUST(driver.cuCtxSetCurrent(nullptr));
  if (round % 4 == 1) NVS_MUST(driver.cuDevicePrimaryCtxReset_v2(0));
  NVS_MUST(driver.cuDevicePrimaryCtxRelease_v2(0));
}

}  // namespace

int contexts(int, char**) {
  for (std::uint64_t round = 1; !told_to_stop(); ++round) {
    own_context(round);
    primary_context(round);
    say_at(round);
  }
  const Gpu gpu;
  Counted data(gpu, kFloats);
  for (int i = 0; i < kSteps; ++i) data.step(nullptr, kNs);
  data.check(nullptr);
  return 0;
}

// retainer MIB: another thread retains and releases the context, and frees something in it.
int retainer(int argc, char** argv) {
  if (argc < 1) return 2;
  const Driver& driver = sim_test::initialised_driver();
  CUcontext context = nullptr;
  NVS_MUST(driver.cuDevicePrimaryCtxRetain(&context, 0));
  NVS_MUST(driver.cuCtxSetCurrent(context));
  const Gpu gpu(0, context);
  Counted data(gpu, (std::uint64_t{number(argv[0])} << 20U) / sizeof(float));
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      CUcontext again = nullptr;
      NVS_MUST(driver.cuDevicePrimaryCtxRetain(&again, 0));
      NVS_MUST(driver.cuCtxSetCurrent(again));
      NVS_MUST(driver.cuMemFree_v2(gpu.alloc(kFloats)));
      NVS_MUST(driver.cuDevicePrimaryCtxRelease_v2(0));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  work_until_stopped(gpu, data);
  is_over = true;
  other.join();
  return 0;
}

}  // namespace nvs::faults
