// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/meet.h"

#include <atomic>

namespace nvs::sim {
namespace {

// The word may be in memory that other processes write at this moment. An aligned word never
// straddles two pieces.
template <class Use>
void with_word(const View& view, Use&& use) {
  view.for_each(0, sizeof(std::uint32_t), [&](std::byte* host, std::uint64_t bytes) {
    if (bytes != sizeof(std::uint32_t)) return;
    use(std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(host)));
  });
}

}  // namespace

double Meet::cost(const MeetArguments&, const KernelWorld&) const { return 0; }

std::vector<KernelTouch> Meet::memory(const MeetArguments& a) const {
  return {{a.own, sizeof(std::uint32_t), Access::read_write},
          {a.other, sizeof(std::uint32_t), Access::read}};
}

std::uint64_t Meet::compute(const MeetArguments& a, std::span<const View> views) const {
  with_word(views[0], [&](auto word) { word.store(a.round); });
  return 0;
}

bool Meet::waits(const std::byte* arguments, std::span<const View> views) const {
  if (views.empty()) return true;
  const MeetArguments a = read(arguments);
  std::uint32_t reached = 0;
  with_word(views[1], [&](auto word) { reached = word.load(); });
  return static_cast<std::int32_t>(reached - a.round) < 0;  // rounds wrap round
}

}  // namespace nvs::sim
