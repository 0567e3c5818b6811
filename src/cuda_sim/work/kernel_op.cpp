// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/kernel_op.h"

#include <algorithm>
#include <utility>

namespace nvs::sim {
namespace {

// Up to this size a kernel's effect takes a few microseconds on the host.
constexpr std::uint64_t kLightBytes = 256 << 10;
// No built-in kernel handles data in smaller units.
constexpr std::uint64_t kElement = 4;

}  // namespace

KernelOp::KernelOp(Driver& driver, Context& context, KernelWork work)
    : Op(Lane::compute), driver_(driver), context_(context), work_(std::move(work)) {
  const Builtin& kernel = *work_.function->builtin;
  const Machine& machine = *driver_.machine;
  memory_ = kernel.touches(work_.arguments.data());
  const KernelWorld world{machine.model(), static_cast<double>(machine.scale())};
  duration_ = machine.dilate(
      std::max(kernel.cost_ns(work_.arguments.data(), world), machine.model().kernel_floor_ns));
  hangs_ = driver_.faults.take(driver_.faults.hang_kernel, kernel.name());
  faults_ = driver_.faults.take(driver_.faults.fault_kernel, kernel.name());
}

bool KernelOp::resolve() {
  if (faults_) return false;
  for (const KernelTouch& touch : memory_) {
    if (touch.begin % kElement != 0) {
      driver_.poison(context_, CUDA_ERROR_MISALIGNED_ADDRESS,
                     std::string(name()) + " touched a misaligned address");
      return false;
    }
    auto view = driver_.space.view(touch.begin, touch.size, context_.gpu, touch.access);
    if (!view) return false;
    views_.push_back(std::move(*view));
    stall_ += use_managed(driver_, context_.gpu, touch.begin, touch.size, touch.access);
  }
  return true;
}

void KernelOp::perform(std::uint64_t, std::uint64_t) {
  const std::uint64_t fresh = work_.function->builtin->run(work_.arguments.data(), views_);
  if (fresh != 0) {
    driver_.machine->record_violation(std::string(name()) + " read " + std::to_string(fresh) +
                                      " values of fresh memory, which nobody ever wrote");
  }
}

bool KernelOp::is_light() const {
  std::uint64_t bytes = 0;
  for (const KernelTouch& touch : memory_) {
    bytes += touch.size;
    if (touches_managed(driver_, touch.begin, touch.size)) return false;  // it may have to wait
  }
  return bytes <= kLightBytes;
}

bool KernelOp::hangs() const {
  return hangs_ || work_.function->builtin->waits(work_.arguments.data(), views_);
}

std::vector<Range> KernelOp::touches() const {
  std::vector<Range> ranges;
  ranges.reserve(memory_.size());
  for (const KernelTouch& touch : memory_) ranges.push_back({touch.begin, touch.size});
  return ranges;
}

}  // namespace nvs::sim
