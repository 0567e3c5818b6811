// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: what backing a range of addresses costs by size of chunk, and what
// that means for swapping a tenant out and in. With small chunks the calls cost as much as the
// copy.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/driver_part.h"
#include "bench/measure.h"

namespace nvs::bench::driver_case {
namespace {

// Figures of FACTS.md are for 8 GiB; a quick run moves less and is compared with its share.
constexpr std::uint64_t kFactsBytes = 8 * kGiB;

struct ChunkFacts {
  std::uint64_t chunk_bytes;
  double map_ms;
  double unmap_ms;
};
constexpr std::array<ChunkFacts, 4> kChunkFacts = {{{2 * kMiB, 173, 147},
                                                    {32 * kMiB, 13.7, 10.2},
                                                    {256 * kMiB, 2.2, 6.9},
                                                    {1024 * kMiB, 1.0, 5.8}}};

constexpr std::uint64_t kSmallChunk = 2 * kMiB;
constexpr std::uint64_t kLargeChunk = 32 * kMiB;
constexpr double kFactsOutSmall = 300;  // ms
constexpr double kFactsOutLarge = 165;
constexpr double kFactsInSmall = 310;
constexpr double kFactsInLarge = 170;
// On a GPU the ratio hangs on how fast the host makes thousands of driver calls.
constexpr Tolerance kSwapTolerance = {0.05, 0.25};

class Range {
 public:
  explicit Range(const Part& part) : part_(part) {
    NVS_CALL(part_.driver(), cuMemAddressReserve, &address_, part_.scaled_bytes(), 0, 0, 0);
  }
  ~Range() { part_.driver().cuMemAddressFree(address_, part_.scaled_bytes()); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  CUdeviceptr address() const { return address_; }

  // Backs all of the range with chunks of a nominal size.
  void map(std::uint64_t chunk_bytes) {
    chunk_ = part_.machine().scaled(chunk_bytes);
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, part_.gpu.device()};
    handles_.resize(part_.scaled_bytes() / chunk_);
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      NVS_CALL(part_.driver(), cuMemCreate, &handles_[i], chunk_, &properties, 0);
      NVS_CALL(part_.driver(), cuMemMap, address_ + i * chunk_, chunk_, 0, handles_[i], 0);
    }
    const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    NVS_CALL(part_.driver(), cuMemSetAccess, address_, part_.scaled_bytes(), &access, 1);
  }

  void unmap() {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      NVS_CALL(part_.driver(), cuMemUnmap, address_ + i * chunk_, chunk_);
      NVS_CALL(part_.driver(), cuMemRelease, handles_[i]);
    }
    handles_.clear();
  }

 private:
  const Part& part_;
  CUdeviceptr address_ = 0;
  std::uint64_t chunk_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

std::string size_text(std::uint64_t bytes) {
  return bytes >= kGiB ? fmt::format("{} GiB", bytes / kGiB) : fmt::format("{} MiB", bytes / kMiB);
}

double share_of_facts(const Part& part) {
  return static_cast<double>(part.bytes) / static_cast<double>(kFactsBytes);
}

struct MapTimes {
  std::array<std::vector<double>, kChunkFacts.size()> map_ms;
  std::array<std::vector<double>, kChunkFacts.size()> unmap_ms;
};

MapTimes time_mapping(const Part& part, Range& range) {
  MapTimes times;
  for (int i = 0; i < part.repetitions; ++i) {
    for (std::size_t size = 0; size < kChunkFacts.size(); ++size) {
      const Stopwatch map_watch(part.machine());
      range.map(kChunkFacts[size].chunk_bytes);
      times.map_ms[size].push_back(map_watch.seconds() * 1e3);
      const Stopwatch unmap_watch(part.machine());
      range.unmap();
      times.unmap_ms[size].push_back(unmap_watch.seconds() * 1e3);
    }
  }
  return times;
}

void measure_mapping(const Part& part, Range& range) {
  part.progress.step("VMM: mapping by size of chunk");
  const auto [times, overrun] =
      measure_on_time(part.bench, part.progress, [&] { return time_mapping(part, range); });
  Section section(part, "VMM, create + map + access and unmap + release");
  section.set_overrun(overrun);
  const double share = share_of_facts(part);
  for (std::size_t size = 0; size < kChunkFacts.size(); ++size) {
    const ChunkFacts& facts = kChunkFacts[size];
    const std::string what =
        fmt::format("{} in chunks of {}", size_text(part.bytes), size_text(facts.chunk_bytes));
    section.add("map " + what, times.map_ms[size], "ms", facts.map_ms * share);
    section.add("unmap " + what, times.unmap_ms[size], "ms", facts.unmap_ms * share);
  }
}

struct SwapTimes {
  std::vector<double> out_ms;
  std::vector<double> in_ms;
};

class Swaps {
 public:
  Swaps(const Part& part, Range& range) : part_(part), range_(range), stream_(part.gpu) {}

  // Adds one swap out and one swap in with chunks of this size to `times`.
  void measure(std::uint64_t chunk_bytes, SwapTimes& times) {
    swap_in(chunk_bytes);
    const Stopwatch out_watch(part_.machine());
    swap_out();
    times.out_ms.push_back(out_watch.seconds() * 1e3);
    const Stopwatch in_watch(part_.machine());
    swap_in(chunk_bytes);
    times.in_ms.push_back(in_watch.seconds() * 1e3);
    range_.unmap();
  }

 private:
  void swap_out() {
    NVS_CALL(part_.driver(), cuMemcpyDtoHAsync_v2, part_.host.data(), range_.address(),
             part_.scaled_bytes(), stream_.get());
    stream_.synchronize();
    range_.unmap();
  }
  void swap_in(std::uint64_t chunk_bytes) {
    range_.map(chunk_bytes);
    NVS_CALL(part_.driver(), cuMemcpyHtoDAsync_v2, range_.address(), part_.host.data(),
             part_.scaled_bytes(), stream_.get());
    stream_.synchronize();
  }

  const Part& part_;
  Range& range_;
  Stream stream_;
};

struct SwapComparison {
  SwapTimes small;
  SwapTimes large;
};

std::vector<double> ratios(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> result;
  for (std::size_t i = 0; i < over.size(); ++i) result.push_back(over[i] / under[i]);
  return result;
}

void measure_swaps(const Part& part, Range& range) {
  part.progress.step("VMM: swapping out and in");
  Swaps swaps(part, range);
  const auto [times, overrun] = measure_on_time(part.bench, part.progress, [&] {
    SwapComparison comparison;
    for (int i = 0; i < part.repetitions; ++i) {
      swaps.measure(kSmallChunk, comparison.small);
      swaps.measure(kLargeChunk, comparison.large);
    }
    return comparison;
  });
  Section section(part, fmt::format("VMM, whole swap of {}", size_text(part.bytes)));
  section.set_overrun(overrun);
  const double share = share_of_facts(part);
  const auto add = [&](const std::string& what, const std::vector<double>& values, double facts) {
    section.add(what, values, "ms", facts * share);
  };
  add("out, chunks of 2 MiB", times.small.out_ms, kFactsOutSmall);
  add("out, chunks of 32 MiB", times.large.out_ms, kFactsOutLarge);
  section.add("out, 2 MiB over 32 MiB", ratios(times.small.out_ms, times.large.out_ms), "x",
              kFactsOutSmall / kFactsOutLarge, kSwapTolerance);
  add("in, chunks of 2 MiB", times.small.in_ms, kFactsInSmall);
  add("in, chunks of 32 MiB", times.large.in_ms, kFactsInLarge);
  section.add("in, 2 MiB over 32 MiB", ratios(times.small.in_ms, times.large.in_ms), "x",
              kFactsInSmall / kFactsInLarge, kSwapTolerance);
}

}  // namespace

void measure_vmm(const Part& part) {
  Range range(part);
  measure_mapping(part, range);
  measure_swaps(part, range);
}

}  // namespace nvs::bench::driver_case
