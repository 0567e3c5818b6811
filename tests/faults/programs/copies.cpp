// SPDX-License-Identifier: Apache-2.0
// A tenant with huge copies: from and to pinned and pageable memory, waited for and not, and by
// rows.
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

// The whole as rows of 1 MiB.
CUDA_MEMCPY2D in_rows(std::size_t bytes) {
  CUDA_MEMCPY2D rows{};
  rows.WidthInBytes = std::size_t{1} << 20U;
  rows.Height = bytes / rows.WidthInBytes;
  rows.srcPitch = rows.dstPitch = rows.WidthInBytes;
  return rows;
}
CUDA_MEMCPY2D rows_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  CUDA_MEMCPY2D rows = in_rows(bytes);
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = from;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = to;
  return rows;
}
CUDA_MEMCPY2D rows_out(void* to, CUdeviceptr from, std::size_t bytes) {
  CUDA_MEMCPY2D rows = in_rows(bytes);
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = from;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = to;
  return rows;
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
    const bool waits = round % 3 == 2;
    const bool by_rows = round % 3 == 0;
    say("copying in");
    if (waits) {
      NVS_MUST(gpu->cuMemcpyHtoD_v2(device, wanted.data(), bytes));
    } else {
      std::memcpy(near, wanted.data(), bytes);
      const CUDA_MEMCPY2D rows = rows_in(device, near, bytes);
      NVS_MUST(by_rows ? gpu->cuMemcpy2DAsync_v2(&rows, stream)
                       : gpu->cuMemcpyHtoDAsync_v2(device, near, bytes, stream));
      NVS_MUST(gpu->cuStreamSynchronize(stream));
    }
    say("copied in");
    std::memset(near, 0, bytes);
    say("copying out");
    if (waits) {
      NVS_MUST(gpu->cuMemcpyDtoH_v2(pageable.data(), device, bytes));
    } else {
      const CUDA_MEMCPY2D rows = rows_out(near, device, bytes);
      NVS_MUST(by_rows ? gpu->cuMemcpy2DAsync_v2(&rows, stream)
                       : gpu->cuMemcpyDtoHAsync_v2(near, device, bytes, stream));
      NVS_MUST(gpu->cuStreamSynchronize(stream));
    }
    say("copied out");
    must_equal(waits ? pageable.data() : near, wanted.data(), count);
  }
  return 0;
}

}  // namespace nvs::faults
