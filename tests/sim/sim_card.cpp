// SPDX-License-Identifier: Apache-2.0
#include "sim_card.h"

#include <algorithm>

namespace nvs::sim {

bool SimCard::take(std::uint64_t bytes) {
  if (used_ + foreign_ + bytes > capacity_) {
    broken_ = broken_ || used_ - dying_ + bytes > capacity_;
    return false;
  }
  used_ += bytes;
  return true;
}

void SimCard::give_late(std::uint64_t bytes, Duration lag) {
  dying_ += bytes;
  time_.after(lag, [this, bytes] {
    dying_ -= bytes;
    used_ -= bytes;
  });
}

Instant SimCard::move(std::uint64_t bytes, bool in) {
  Instant& free_at = free_at_[in ? 1 : 0];
  const auto us = static_cast<std::int64_t>(bytes / (rate_ / 1'000'000));
  free_at = std::max(free_at, time_.now()) + Duration::from_us(us);
  moved_ += bytes;
  return free_at;
}

}  // namespace nvs::sim
