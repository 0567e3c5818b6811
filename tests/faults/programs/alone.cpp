// SPDX-License-Identifier: Apache-2.0
// A tenant whose daemon goes while its memory is away or about to leave, one step at each word of
// the test.
#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = std::uint64_t{4} << 20U;
constexpr float kBefore = 7;
constexpr float kAfter = 8;

void must_hold(const Gpu& gpu, CUdeviceptr memory, float value) {
  for (const float found : gpu.read(memory, 64)) {
    if (found != value) throw std::runtime_error("it holds something else");
  }
}

}  // namespace

// alone: hang, which the next kernel does, of whoever it is; release; free; stop.
int alone(int, char**) {
  const Gpu gpu;
  CUdeviceptr data = gpu.filled(kFloats, kBefore);
  float value = kBefore;
  say("ready");
  for (;;) {
    const std::string word = wait_for_word();
    if (word == "stop" || word.empty()) break;
    if (word == "hang") {
      gpu.launch_hanging([] {
        say("armed");
        return CUDA_SUCCESS;
      });
    }
    if (word == "release") gpu.sim().cusimReleaseHang();
    if (word == "free") NVS_MUST(gpu->cuMemFree_v2(data));
    say("done " + word);
    if (word == "free") data = gpu.filled(kFloats, value = kAfter);
  }
  must_hold(gpu, data, value);
  return 0;
}

}  // namespace nvs::faults
