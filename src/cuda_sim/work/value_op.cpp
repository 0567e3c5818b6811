// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/value_op.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace nvs::sim {
namespace {

constexpr auto kValuePollInterval = std::chrono::microseconds(20);

// Comparisons are cyclic, as counters wrap round.
bool is_met(const ValueStep& step, std::uint64_t found) {
  const std::uint64_t mask = step.bytes == 8 ? ~std::uint64_t{0} : 0xffffffff;
  switch (step.flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: {
      const std::uint64_t distance = (found - step.value) & mask;
      return distance <= mask / 2;
    }
    case CU_STREAM_WAIT_VALUE_EQ:
      return ((found ^ step.value) & mask) == 0;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & step.value & mask) != 0;
    default:
      return (~(found | step.value) & mask) != 0;
  }
}

}  // namespace

void ValueOp::perform(std::uint64_t, std::uint64_t) {
  for (const ValueStep& step : work_.steps) {
    while (!finish_step(step)) std::this_thread::sleep_for(kValuePollInterval);
  }
}

// True when the step is done, or when there is no point in going on.
bool ValueOp::finish_step(const ValueStep& step) {
  const std::lock_guard guard{driver_.lock};
  if (context_.destroyed || context_.sticky != CUDA_SUCCESS) return true;
  const Access need = step.waits ? Access::read : Access::read_write;
  const auto view = driver_.space.view(step.address, step.bytes, context_.gpu, need);
  if (!view) {
    driver_.poison(context_, CUDA_ERROR_ILLEGAL_ADDRESS,
                   std::string(name()) + " touched memory that is not mapped");
    return true;
  }
  std::uint64_t found = 0;
  // An aligned value is never split between two pieces of memory.
  view->for_each(0, step.bytes, [&](std::byte* host, std::uint64_t bytes) {
    if (step.waits) {
      std::memcpy(&found, host, bytes);
    } else {
      std::memcpy(host, &step.value, bytes);
    }
  });
  return !step.waits || is_met(step, found);
}

std::vector<Range> ValueOp::touches() const {
  std::vector<Range> ranges;
  for (const ValueStep& step : work_.steps) ranges.push_back({step.address, step.bytes});
  return ranges;
}

}  // namespace nvs::sim
