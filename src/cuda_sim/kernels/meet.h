// SPDX-License-Identifier: Apache-2.0
// The built-in kernel that cannot end alone, as the kernels of a collective do: it tells another
// one that it has come, and runs until the other has come too.
#pragma once

#include "cuda_sim/kernels/typed.h"

namespace nvs::sim {

struct MeetArguments {
  std::uint64_t own;
  std::uint64_t other;
  std::uint32_t round;
};

/// *own = round, and then runs until *other has got to that round. Both are 32-bit words in memory
/// that both sides see: other GPUs, other processes, the host.
class Meet final : public Typed<MeetArguments, 8, 8, 4> {
 public:
  const char* name() const override { return "nvs_meet"; }
  bool waits(const std::byte* arguments, std::span<const View> views) const override;

 protected:
  double cost(const MeetArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const MeetArguments& a) const override;
  std::uint64_t compute(const MeetArguments& a, std::span<const View> views) const override;
};

}  // namespace nvs::sim
