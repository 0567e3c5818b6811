// SPDX-License-Identifier: Apache-2.0
// A tenant with huge copies: from and to pinned and pageable memory, waited for and not.
#include <cstring>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

// Different in each place and each round.
void write_pattern(std::uint64_t* words, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = 0; i < count; ++i) words[i] = (i + seed) * 0x9e3779b97f4a7c15ULL;
}

void must_equal(const std::uint64_t* got, const std::uint64_t* wanted, std::size_t count) {
  if (std::memcmp(got, wanted, count * sizeof *got) == 0) return;
  std::size_t at = 0;
  while (got[at] == wanted[at]) ++at;
  throw std::runtime_error("word " + std::to_string(at) + " of " + std::to_string(count) +
                           " was lost on the way");
}

}  // namespace

// copies MIB ROUNDS
int copies(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::size_t bytes = std::size_t{number(argv[0])} << 20;
  const std::size_t count = bytes / sizeof(std::uint64_t);
  const Gpu gpu;
  CUstream const stream = gpu.stream();
  const CUdeviceptr device = gpu.alloc(bytes);
  void* pinned = nullptr;
  NVS_MUST(gpu->cuMemHostAlloc(&pinned, bytes, 0));
  auto* const near = static_cast<std::uint64_t*>(pinned);
  std::vector<std::uint64_t> wanted(count);
  std::vector<std::uint64_t> pageable(count);
  for (std::uint64_t round = 1; round <= number(argv[1]); ++round) {
    write_pattern(wanted.data(), count, round);
    const bool waits = round % 2 == 0;
    say("copying in");
    if (waits) {
      NVS_MUST(gpu->cuMemcpyHtoD_v2(device, wanted.data(), bytes));
    } else {
      std::memcpy(near, wanted.data(), bytes);
      NVS_MUST(gpu->cuMemcpyHtoDAsync_v2(device, near, bytes, stream));
      NVS_MUST(gpu->cuStreamSynchronize(stream));
    }
    say("copied in");
    std::memset(near, 0, bytes);
    say("copying out");
    if (waits) {
      NVS_MUST(gpu->cuMemcpyDtoH_v2(pageable.data(), device, bytes));
    } else {
      NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(near, device, bytes, stream));
      NVS_MUST(gpu->cuStreamSynchronize(stream));
    }
    say("copied out");
    must_equal(waits ? pageable.data() : near, wanted.data(), count);
  }
  return 0;
}

}  // namespace nvs::faults
