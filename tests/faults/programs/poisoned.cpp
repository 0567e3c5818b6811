// SPDX-License-Identifier: Apache-2.0
// A tenant that loses its context, and lives on.
#include <thread>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kKernelNs = 1'000'000;
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr struct timespec kPause = {0, 5'000'000};

void must_be_lost(CUresult result, const char* call) {
  if (result == CUDA_ERROR_ILLEGAL_ADDRESS) return;
  throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

// All that work needs fails as it would without us, and nothing else does.
void try_to_work(const Gpu& gpu) {
  must_be_lost(gpu.spin(kKernelNs), "a launch");
  must_be_lost(gpu->cuMemsetD8_v2(0, 0, 1), "cuMemsetD8");
  must_be_lost(gpu->cuCtxSynchronize(), "cuCtxSynchronize");
  CUdevice device = -1;
  NVS_MUST(gpu->cuCtxGetDevice(&device));
}

void allocate(const Gpu& gpu, std::size_t bytes) {
  CUdeviceptr address = 0;
  say("took " + std::to_string(gpu->cuMemAlloc_v2(&address, bytes)));
}

// "allocate", "destroy" or "stop".
bool obey(const Gpu& gpu, const std::string& word) {
  if (word == "allocate") allocate(gpu, kMiB);
  if (word == "destroy") {
    NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
    say("destroyed");
    while (wait_for_word() != "stop") {
    }
    return false;
  }
  return word != "stop";
}

}  // namespace

// poisoned MIB [WAITED]: so much memory; and if WAITED, so many MiB more that another thread
// allocates meanwhile. It loses its context at a word of the test. Afterwards it tries to work, as
// those do that catch all errors, and must be refused each time.
int poisoned(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  Counted data(gpu, number(argv[0]) * kMiB / sizeof(float));
  data.step(nullptr);
  data.check(nullptr);
  say("ready");
  std::thread waiter;
  if (argc > 1) {
    waiter = std::thread([&gpu, bytes = number(argv[1]) * kMiB] {
      gpu.make_current();
      allocate(gpu, bytes);
    });
  }
  wait_for_word();
  NVS_MUST(gpu.spin(kKernelNs));
  must_be_lost(gpu->cuCtxSynchronize(), "the first");
  say("poisoned");
  for (std::uint64_t tries = 1; !told_to_stop() || obey(gpu, wait_for_word()); ++tries) {
    try_to_work(gpu);
    say_at(tries);
    nanosleep(&kPause, nullptr);
  }
  if (waiter.joinable()) waiter.join();
  return 0;
}

}  // namespace nvs::faults
