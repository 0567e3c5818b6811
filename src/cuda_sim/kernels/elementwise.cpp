// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/elementwise.h"

#include "cuda_sim/kernels/floats.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kFloat = sizeof(float);

}  // namespace

double Fill::cost(const FillArguments& a, const KernelWorld& world) const {
  return traffic_ns(a.n * kFloat, world);
}

std::vector<KernelTouch> Fill::memory(const FillArguments& a) const {
  return {{a.dst, a.n * kFloat, Access::read_write}};
}

std::uint64_t Fill::compute(const FillArguments& a, std::span<const View> views) const {
  StripeBuffer values;
  values.fill(a.value);
  for (std::uint64_t first = 0; first < a.n; first += kStripe) {
    write_floats(views[0], first, std::min(kStripe, a.n - first), values);
  }
  return 0;
}

double Step::cost(const FillArguments& a, const KernelWorld& world) const {
  return traffic_ns(2 * a.n * kFloat, world);
}

std::vector<KernelTouch> Step::memory(const FillArguments& a) const {
  return {{a.dst, a.n * kFloat, Access::read_write}};
}

std::uint64_t Step::compute(const FillArguments& a, std::span<const View> views) const {
  std::uint64_t fresh = 0;
  for_each_stripe(a.n, [&](std::uint64_t first, std::uint64_t count) {
    StripeBuffer values;
    fresh += read_floats(views[0], first, count, values);
    for (std::uint64_t i = 0; i < count; ++i) values[i] += a.value;
    write_floats(views[0], first, count, values);
  });
  return fresh;
}

double Add::cost(const AddArguments& a, const KernelWorld& world) const {
  return traffic_ns(3 * a.n * kFloat, world);
}

std::vector<KernelTouch> Add::memory(const AddArguments& a) const {
  return {{a.dst, a.n * kFloat, Access::read_write}, {a.src, a.n * kFloat, Access::read}};
}

std::uint64_t Add::compute(const AddArguments& a, std::span<const View> views) const {
  std::uint64_t fresh = 0;
  for_each_stripe(a.n, [&](std::uint64_t first, std::uint64_t count) {
    StripeBuffer sum;
    StripeBuffer term;
    fresh += read_floats(views[0], first, count, sum);
    fresh += read_floats(views[1], first, count, term);
    for (std::uint64_t i = 0; i < count; ++i) sum[i] += term[i];
    write_floats(views[0], first, count, sum);
  });
  return fresh;
}

double Add3::cost(const Add3Arguments& a, const KernelWorld& world) const {
  return traffic_ns(3 * a.n * kFloat, world);
}

std::vector<KernelTouch> Add3::memory(const Add3Arguments& a) const {
  return {{a.dst, a.n * kFloat, Access::read_write},
          {a.a, a.n * kFloat, Access::read},
          {a.b, a.n * kFloat, Access::read}};
}

std::uint64_t Add3::compute(const Add3Arguments& a, std::span<const View> views) const {
  std::uint64_t fresh = 0;
  for_each_stripe(a.n, [&](std::uint64_t first, std::uint64_t count) {
    StripeBuffer left;
    StripeBuffer right;
    fresh += read_floats(views[1], first, count, left);
    fresh += read_floats(views[2], first, count, right);
    for (std::uint64_t i = 0; i < count; ++i) left[i] += right[i];
    write_floats(views[0], first, count, left);
  });
  return fresh;
}

double Check::cost(const CheckArguments& a, const KernelWorld& world) const {
  return reading_ns(a.n * kFloat, world);
}

std::vector<KernelTouch> Check::memory(const CheckArguments& a) const {
  return {{a.src, a.n * kFloat, Access::read},
          {a.mismatches, sizeof(std::uint64_t), Access::read_write}};
}

std::uint64_t Check::compute(const CheckArguments& a, std::span<const View> views) const {
  std::uint64_t mismatches = 0;
  std::uint64_t fresh = 0;
  for (std::uint64_t first = 0; first < a.n; first += kStripe) {
    const std::uint64_t count = std::min(kStripe, a.n - first);
    const float right = first % kStripeBlock == 0 ? a.expected : a.initial;
    StripeBuffer values;
    fresh += read_floats(views[0], first, count, values);
    for (std::uint64_t i = 0; i < count; ++i) {
      mismatches += values[i] == right ? 0U : 1U;
    }
  }
  views[1].for_each(0, sizeof mismatches, [&](std::byte* host, std::uint64_t bytes) {
    if (bytes != sizeof mismatches) return;  // an aligned word never straddles a chunk
    std::uint64_t total = 0;
    std::memcpy(&total, host, sizeof total);
    total += mismatches;
    std::memcpy(host, &total, sizeof total);
  });
  return fresh;
}

double Spin::cost(const SpinArguments& a, const KernelWorld&) const {
  return static_cast<double>(a.ns);
}

std::vector<KernelTouch> Spin::memory(const SpinArguments&) const { return {}; }

std::uint64_t Spin::compute(const SpinArguments&, std::span<const View>) const { return 0; }

}  // namespace nvs::sim
