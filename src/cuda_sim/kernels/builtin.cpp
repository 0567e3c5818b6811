// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/builtin.h"

#include <array>

#include "cuda_sim/kernels/elementwise.h"
#include "cuda_sim/kernels/hash.h"
#include "cuda_sim/kernels/meet.h"
#include "cuda_sim/kernels/products.h"

namespace nvs::sim {

const Builtin* find_builtin(std::string_view name) {
  static const Fill fill;
  static const Step step;
  static const Add add;
  static const Add3 add3;
  static const Check check;
  static const Spin spin;
  static const Matmul matmul;
  static const Infer infer;
  static const Meet meet;
  static const Hash hash;
  static const std::array<const Builtin*, 10> all = {&fill, &step,   &add,   &add3, &check,
                                                     &spin, &matmul, &infer, &meet, &hash};
  for (const Builtin* kernel : all) {
    if (kernel->name() == name) return kernel;
  }
  return nullptr;
}

}  // namespace nvs::sim
