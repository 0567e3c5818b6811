// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/products.h"

#include <cmath>
#include <vector>

#include "cuda_sim/kernels/floats.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kPoints = 64;

float read_float(const View& view, std::uint64_t index, std::uint64_t& fresh) {
  StripeBuffer value;
  fresh += read_floats(view, index, 1, value);
  return value[0];
}

}  // namespace

// Scaling shrinks the matrices' memory, so their side by the root of the scale and the work by its
// 3/2 power.
double Matmul::cost(const MatmulArguments& a, const KernelWorld& world) const {
  const double n = a.n;
  return 2 * n * n * n * world.scale * std::sqrt(world.scale) / world.model.flops_per_ns;
}

std::vector<KernelTouch> Matmul::memory(const MatmulArguments& a) const {
  const std::uint64_t bytes = std::uint64_t{a.n} * a.n * sizeof(float);
  return {{a.c, bytes, Access::read_write}, {a.a, bytes, Access::read}, {a.b, bytes, Access::read}};
}

std::uint64_t Matmul::compute(const MatmulArguments& a, std::span<const View> views) const {
  const std::uint64_t n = a.n;
  const std::uint64_t stride = n * n / kPoints;
  std::uint64_t fresh = 0;
  for (std::uint64_t point = 0; point < kPoints && stride != 0; ++point) {
    const std::uint64_t index = point * stride;
    const std::uint64_t row = index / n;
    const std::uint64_t column = index % n;
    float sum = 0;
    for (std::uint64_t k = 0; k < n; ++k) {
      sum += read_float(views[1], row * n + k, fresh) * read_float(views[2], k * n + column, fresh);
    }
    write_floats(views[0], index, 1, {sum});
  }
  return fresh;
}

double Infer::cost(const InferArguments& a, const KernelWorld& world) const {
  return reading_ns(a.n_weights * sizeof(float), world);
}

std::vector<KernelTouch> Infer::memory(const InferArguments& a) const {
  return {{a.weights, a.n_weights * sizeof(float), Access::read},
          {a.state, a.n_state * sizeof(float), Access::read_write}};
}

std::uint64_t Infer::compute(const InferArguments& a, std::span<const View> views) const {
  if (a.n_state == 0) return 0;
  std::uint64_t fresh = 0;
  std::vector<float> sums(a.n_state, 0.0F);
  for_each_stripe(a.n_weights, [&](std::uint64_t first, std::uint64_t count) {
    StripeBuffer weights;
    fresh += read_floats(views[0], first, count, weights);
    for (std::uint64_t i = 0; i < count; ++i) sums[(first + i) % a.n_state] += weights[i];
  });
  for (std::uint64_t first = 0; first < a.n_state; first += kStripe) {
    const std::uint64_t count = std::min(kStripe, a.n_state - first);
    StripeBuffer state;
    fresh += read_floats(views[1], first, count, state);
    for (std::uint64_t i = 0; i < count; ++i) state[i] += sums[first + i];
    write_floats(views[1], first, count, state);
  }
  return fresh;
}

}  // namespace nvs::sim
