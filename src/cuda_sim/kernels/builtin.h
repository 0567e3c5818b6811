// SPDX-License-Identifier: Apache-2.0
// The kernels the simulator can run, found by their entry name. A built-in kernel computes on a
// stripe of its data, so that lost or stale memory is found, and says how long the whole would take
// on the card modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cuda_sim/config/model.h"
#include "cuda_sim/memory/address_space.h"

namespace nvs::sim {

struct KernelTouch {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  Access access = Access::read;
};

/// What a kernel is told of the card: sizes are scaled, times are of the card modelled.
struct KernelWorld {
  const Model& model;
  double scale;
};

class Builtin {
 public:
  virtual const char* name() const = 0;
  /// Sizes of the parameters, in order, as its PTX declares them.
  virtual std::span<const unsigned> parameters() const = 0;
  virtual double cost_ns(const std::byte* arguments, const KernelWorld& world) const = 0;
  virtual std::vector<KernelTouch> touches(const std::byte* arguments) const = 0;
  /// Computes, with a view of each touched range. Returns how many values it read that nobody ever
  /// wrote.
  virtual std::uint64_t run(const std::byte* arguments, std::span<const View> views) const = 0;
  /// Whether it still waits for somebody else after run(); without views, whether it ever might.
  virtual bool waits(const std::byte* /*arguments*/, std::span<const View> /*views*/) const {
    return false;
  }

 protected:
  // Trivial and so never run: kernels may be in flight while exit() destroys what is static.
  ~Builtin() = default;
};

/// Null if there is no such kernel.
const Builtin* find_builtin(std::string_view name);

}  // namespace nvs::sim
