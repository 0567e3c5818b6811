// SPDX-License-Identifier: Apache-2.0
// A tenant whose memory is of every kind that moves differently: some changes all the time, some
// was written once, some holds nothing but zeros, and some was never touched.
#include <sstream>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kSpinNs = 1'000'000;

void must_be_zero(const Gpu& gpu, CUdeviceptr address, std::size_t bytes) {
  std::vector<char> host(bytes, 1);
  NVS_MUST(gpu->cuMemcpyDtoH_v2(host.data(), address, bytes));
  for (const char byte : host) {
    if (byte != 0) throw std::runtime_error("zeros are gone");
  }
}

// "arm FUNCTION@THREAD AFTER TIMES RESULT": for cusimFailCall(). False if that was not the word.
bool arm(const Gpu& gpu, const std::string& word) {
  std::istringstream text(word);
  std::string verb;
  std::string function;
  unsigned after = 0;
  unsigned times = 0;
  int result = 0;
  text >> verb >> function >> after >> times >> result;
  if (verb != "arm") return false;
  if (!text || gpu.sim().cusimFailCall(function.c_str(), after, times, result) != 0) {
    throw std::runtime_error("cannot arm " + word);
  }
  say("armed");
  return true;
}

}  // namespace

// mixed MIB CHANGING: so much of each kind, and so many times that of what changes. It listens to
// words.
int mixed(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::size_t bytes = std::size_t{number(argv[0])} << 20U;
  const Gpu gpu;
  std::vector<Counted> changing;
  for (unsigned i = 0; i < number(argv[1]); ++i) changing.emplace_back(gpu, bytes / sizeof(float));
  Counted written(gpu, bytes / sizeof(float));
  written.step(nullptr);
  const CUdeviceptr zero = gpu.alloc(bytes);
  NVS_MUST(gpu->cuMemsetD8_v2(zero, 0, bytes));
  gpu.alloc(bytes);
  say("ready");
  while (!told_to_stop() || arm(gpu, wait_for_word())) {
    for (Counted& data : changing) data.step(nullptr, kSpinNs);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(changing.front().steps());
  }
  for (const Counted& data : changing) data.check(nullptr);
  written.check(nullptr);
  must_be_zero(gpu, zero, bytes);
  return 0;
}

}  // namespace nvs::faults
