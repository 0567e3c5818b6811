// SPDX-License-Identifier: Apache-2.0
// Built-in kernels that combine many elements into one.
#pragma once

#include "cuda_sim/kernels/typed.h"

namespace nvs::sim {

struct MatmulArguments {
  std::uint64_t c;
  std::uint64_t a;
  std::uint64_t b;
  std::uint32_t n;
};

/// c = a * b, n by n. Only 64 elements of c, evenly spread, are computed: each is a whole dot
/// product.
class Matmul final : public Typed<MatmulArguments, 8, 8, 8, 4> {
 public:
  const char* name() const override { return "nvs_matmul"; }

 protected:
  double cost(const MatmulArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const MatmulArguments& a) const override;
  std::uint64_t compute(const MatmulArguments& a, std::span<const View> views) const override;
};

struct InferArguments {
  std::uint64_t weights;
  std::uint64_t state;
  std::uint64_t n_weights;
  std::uint64_t n_state;
};

/// state[j] += the sum of the striped weights[i] with i = j modulo n_state.
class Infer final : public Typed<InferArguments, 8, 8, 8, 8> {
 public:
  const char* name() const override { return "nvs_infer"; }

 protected:
  double cost(const InferArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const InferArguments& a) const override;
  std::uint64_t compute(const InferArguments& a, std::span<const View> views) const override;
};

}  // namespace nvs::sim
