// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/builtin.h"

#include <array>

#include "cuda_sim/kernels/elementwise.h"
#include "cuda_sim/kernels/meet.h"
#include "cuda_sim/kernels/products.h"

namespace nvs::sim {

const Builtin* find_builtin(std::string_view name) {
  static constexpr Fill fill;
  static constexpr Step step;
  static constexpr Add add;
  static constexpr Add3 add3;
  static constexpr Check check;
  static constexpr Spin spin;
  static constexpr Matmul matmul;
  static constexpr Infer infer;
  static constexpr Meet meet;
  static constexpr std::array<const Builtin*, 9> all = {&fill, &step,   &add,   &add3, &check,
                                                        &spin, &matmul, &infer, &meet};
  for (const Builtin* kernel : all) {
    if (kernel->name() == name) return kernel;
  }
  return nullptr;
}

}  // namespace nvs::sim
