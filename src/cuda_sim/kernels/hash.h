// SPDX-License-Identifier: Apache-2.0
// The built-in kernel by which the library tells whether a chunk has changed. It reads everything:
// a stripe would not find what changed elsewhere. Its hash is another one than that of the PTX.
#pragma once

#include "cuda_sim/kernels/typed.h"

namespace nvs::sim {

struct HashArguments {
  std::uint64_t data;
  std::uint64_t words;
  std::uint64_t out;
};

class Hash final : public Typed<HashArguments, 8, 8, 8> {
 public:
  const char* name() const override { return "nvs_hash_chunk"; }

 protected:
  double cost(const HashArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const HashArguments& a) const override;
  std::uint64_t compute(const HashArguments& a, std::span<const View> views) const override;
};

}  // namespace nvs::sim
