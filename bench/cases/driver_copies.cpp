// SPDX-License-Identifier: Apache-2.0
// Pinned copies: each direction alone, then both at once. Swapping out and in at the same time
// lives on the ratio.
#include <vector>

#include "bench/cases/driver_part.h"
#include "bench/measure.h"

namespace nvs::bench::driver_case {
namespace {

constexpr double kFactsSimplex = 55.2;  // GB/s
constexpr double kFactsDuplex = 101.6;
// On a GPU, what both directions reach together also depends on its slot and on the host's memory.
constexpr Tolerance kTolerance = {0.05, 0.10};

struct Rates {
  std::vector<double> in;
  std::vector<double> out;
  std::vector<double> both;
  std::vector<double> ratio;
};

class Copies {
 public:
  explicit Copies(const Part& part)
      : part_(part), device_(part.gpu, part.scaled_bytes()), in_(part.gpu), out_(part.gpu) {
    // All of the device buffer is written before any of it is read.
    copy_in(part.scaled_bytes());
    in_.synchronize();
  }

  // The kinds alternate, so that a drift of the machine's speed meets all of them.
  Rates measure() const {
    Rates rates;
    for (int i = 0; i < part_.repetitions; ++i) {
      const std::uint64_t all = part_.scaled_bytes();
      rates.in.push_back(rate([&] { copy_in(all); }));
      rates.out.push_back(rate([&] { copy_out(0, all); }));
      rates.both.push_back(rate([&] {
        copy_in(all / 2);
        copy_out(all / 2, all - all / 2);
      }));
      rates.ratio.push_back(2 * rates.both.back() / (rates.in.back() + rates.out.back()));
    }
    return rates;
  }

 private:
  void copy_in(std::uint64_t bytes) const {
    NVS_CALL(part_.driver(), cuMemcpyHtoDAsync_v2, device_.address(), part_.host.data(), bytes,
             in_.get());
  }
  void copy_out(std::uint64_t offset, std::uint64_t bytes) const {
    NVS_CALL(part_.driver(), cuMemcpyDtoHAsync_v2, part_.host.data() + offset,
             device_.address() + offset, bytes, out_.get());
  }

  // Nominal GB/s of moving as much as the buffers hold.
  template <class Copy>
  double rate(const Copy& copy) const {
    const Stopwatch watch(part_.machine());
    copy();
    in_.synchronize();
    out_.synchronize();
    return static_cast<double>(part_.bytes) * 1e-9 / watch.seconds();
  }

  const Part& part_;
  DeviceBuffer device_;
  Stream in_;
  Stream out_;
};

}  // namespace

void measure_copies(const Part& part) {
  part.progress.step("copies");
  const Copies copies(part);
  const auto [rates, overrun] =
      measure_on_time(part.bench, part.progress, [&] { return copies.measure(); });
  Section section(part, "Copies, pinned");
  section.set_overrun(overrun);
  section.add("host to device", rates.in, "GB/s", kFactsSimplex);
  section.add("device to host", rates.out, "GB/s", kFactsSimplex);
  section.add("both at once, in total", rates.both, "GB/s", kFactsDuplex);
  section.add("both at once over one direction", rates.ratio, "x", kFactsDuplex / kFactsSimplex,
              kTolerance);
}

}  // namespace nvs::bench::driver_case
