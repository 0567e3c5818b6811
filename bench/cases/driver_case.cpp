// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/driver_case.h"

#include <utility>

#include "bench/cases/driver_part.h"

namespace nvs::bench {
namespace driver_case {
namespace {

constexpr const char* kKnownCard = "H200";

// The card must hold the buffer and leave room for contexts; smaller cards get smaller copies.
std::uint64_t bytes_that_fit(const Gpu& gpu, std::uint64_t wanted) {
  std::uint64_t bytes = wanted;
  while (bytes > kGiB && gpu.free_bytes() < gpu.machine().scaled(bytes + bytes / 4)) bytes /= 2;
  return bytes;
}

}  // namespace

Section::Section(const Part& part, std::string title)
    : part_(part),
      title_(std::move(title)),
      known_card_(part.machine().device_name().find(kKnownCard) != std::string::npos) {}

void Section::add(const std::string& what, const std::vector<double>& values,
                  const std::string& unit, std::optional<double> facts,
                  std::optional<Tolerance> tolerance) const {
  Row row{title_, what, summarize(values), unit, std::nullopt, std::nullopt, overrun_};
  if (known_card_ && facts) {
    row.facts = facts;
    if (tolerance) {
      row.target =
          within(*facts, part_.machine().simulated() ? tolerance->simulator : tolerance->gpu);
    }
  }
  part_.bench.report.add(std::move(row));
}

}  // namespace driver_case

void DriverCase::run(const Bench& bench) const {
  using namespace driver_case;
  const Gpu gpu(bench.machine);
  Progress progress(name(), steps(bench.quick));
  const std::uint64_t bytes = bytes_that_fit(gpu, bench.quick ? 2 * kGiB : 8 * kGiB);
  progress.step("pinned host memory");
  const HostBuffer host(gpu, bench.machine.scaled(bytes));
  const Part part{bench, gpu, progress, bench.quick ? 3 : 5, bytes, host};
  measure_copies(part);
  measure_vmm(part);
  measure_calls(part);
  measure_sharing(part);
}

}  // namespace nvs::bench
