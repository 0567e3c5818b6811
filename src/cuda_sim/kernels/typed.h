// SPDX-License-Identifier: Apache-2.0
// A built-in kernel whose arguments are a struct. PTX lays parameters out as C does, so the
// launch's argument buffer is that struct, but for the padding at its end.
#pragma once

#include <array>
#include <cstring>

#include "cuda_sim/kernels/builtin.h"

namespace nvs::sim {

template <class Arguments, unsigned... kSizes>
class Typed : public Builtin {
 public:
  std::span<const unsigned> parameters() const final { return kParameters; }
  double cost_ns(const std::byte* arguments, const KernelWorld& world) const final {
    return cost(read(arguments), world);
  }
  std::vector<KernelTouch> touches(const std::byte* arguments) const final {
    return memory(read(arguments));
  }
  std::uint64_t run(const std::byte* arguments, std::span<const View> views) const final {
    return compute(read(arguments), views);
  }

 protected:
  ~Typed() = default;

  virtual double cost(const Arguments& arguments, const KernelWorld& world) const = 0;
  virtual std::vector<KernelTouch> memory(const Arguments& arguments) const = 0;
  virtual std::uint64_t compute(const Arguments& arguments, std::span<const View> views) const = 0;

  /// Time to move so many bytes of (scaled) device memory.
  static double traffic_ns(std::uint64_t bytes, const KernelWorld& world) {
    return static_cast<double>(bytes) * world.scale / world.model.kernel_bytes_per_ns;
  }
  /// The same for a kernel that only reads.
  static double reading_ns(std::uint64_t bytes, const KernelWorld& world) {
    return static_cast<double>(bytes) * world.scale / world.model.read_bytes_per_ns;
  }

  static Arguments read(const std::byte* bytes) {
    static_assert(kBytes <= sizeof(Arguments) && sizeof(Arguments) < kBytes + alignof(Arguments));
    Arguments arguments{};
    std::memcpy(&arguments, bytes, kBytes);
    return arguments;
  }

 private:
  static constexpr std::array<unsigned, sizeof...(kSizes)> kParameters{kSizes...};
  /// To the end of the last parameter; each is aligned to its own size.
  static constexpr std::size_t kBytes = [] {
    std::size_t end = 0;
    for (const unsigned size : {kSizes...}) end = (end + size - 1) / size * size + size;
    return end;
  }();
};

}  // namespace nvs::sim
