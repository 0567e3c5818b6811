// SPDX-License-Identifier: Apache-2.0
// Tenants that do nothing when the test says a word but free what they have, or end.
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::size_t kBytes = std::size_t{3} << 20U;
constexpr std::size_t kSmall = 5000;
constexpr std::size_t kCount = 4;

struct Owned {
  CUdeviceptr address;
  std::size_t bytes;
};

// Each holds its number in every byte; the second half are small.
std::vector<Owned> own_some(const Gpu& gpu) {
  std::vector<Owned> owned;
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    const std::size_t bytes = i < kCount ? kBytes : kSmall;
    owned.push_back({gpu.alloc(bytes), bytes});
    NVS_MUST(gpu->cuMemsetD8_v2(owned[i].address, static_cast<unsigned char>(i + 1), bytes));
  }
  NVS_MUST(gpu->cuCtxSynchronize());
  return owned;
}

void check(const Gpu& gpu, const Owned& owned, std::size_t number) {
  std::vector<char> host(owned.bytes);
  NVS_MUST(gpu->cuMemcpyDtoH_v2(host.data(), owned.address, owned.bytes));
  for (const char byte : host) {
    if (byte != static_cast<char>(number + 1)) throw std::runtime_error("it holds something else");
  }
}

// Each half at a word of the test.
void free_and_own_again(const Gpu& gpu, std::vector<Owned>& owned) {
  wait_for_word();
  for (std::size_t i = 0; i < owned.size(); i += 2) NVS_MUST(gpu->cuMemFree_v2(owned[i].address));
  say("freed");
  wait_for_word();
  for (std::size_t i = 0; i < owned.size(); i += 2) {
    Owned& one = owned[i];
    one.address = gpu.alloc(one.bytes);
    NVS_MUST(gpu->cuMemsetD8_v2(one.address, static_cast<unsigned char>(i + 1), one.bytes));
  }
  NVS_MUST(gpu->cuCtxSynchronize());
  say("again");
}

}  // namespace

// freer ROUNDS: frees every other one, and allocates as much again.
int freer(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  std::vector<Owned> owned = own_some(gpu);
  say("ready");
  for (unsigned round = number(argv[0]); round > 0; --round) free_and_own_again(gpu, owned);
  for (std::size_t i = 0; i < owned.size(); ++i) check(gpu, owned[i], i);
  return 0;
}
// leaver return|exit|destroy|quick: how it ends.
int leaver(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  own_some(gpu);
  say("ready");
  wait_for_word();
  if (std::strcmp(argv[0], "exit") == 0) ::_exit(0);
  if (std::strcmp(argv[0], "destroy") == 0) NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
  if (std::strcmp(argv[0], "quick") == 0) std::quick_exit(0);
  return 0;
}

// Takes all the memory it sees, and works on it.
int hog(int, char**) {
  const Gpu gpu;
  constexpr std::size_t kPiece = std::size_t{4} << 20U;
  constexpr std::size_t kLeft = std::size_t{2} << 20U;
  std::vector<Counted> data;
  data.emplace_back(gpu, kPiece / sizeof(float));
  for (std::size_t free = gpu.free_bytes(); free > kLeft; free = gpu.free_bytes()) {
    const std::size_t bytes = free < kPiece + kLeft ? free - kLeft / 2 : kPiece;
    data.emplace_back(gpu, bytes / sizeof(float));
  }
  say("took " + std::to_string(data.size()));
  while (!told_to_stop()) {
    for (Counted& one : data) one.step(nullptr);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(data.front().steps());
  }
  for (const Counted& one : data) one.check(nullptr);
  return 0;
}

}  // namespace nvs::faults
