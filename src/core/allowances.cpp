// SPDX-License-Identifier: Apache-2.0
#include "core/allowances.h"

#include <algorithm>
#include <limits>

namespace nvs::core {
std::uint64_t Allowances::send(std::uint64_t bytes) {
  if (open_.size() == kAllowancesOpenMax) {
    open_[1].most = std::max(open_[0].most, open_[1].most);
    open_[1].least = std::min(open_[0].least, open_[1].least);
    open_.erase(open_.begin());
  }
  bytes_ = bytes;
  open_.push_back({++number_, bytes, bytes, bytes});
  return number_;
}

void Allowances::acknowledge(std::uint64_t number) {
  if (number > number_) return;
  answered_ = std::max(answered_, number);
  std::erase_if(open_, [number](const Sent& sent) { return sent.number < number; });
}

std::uint64_t Allowances::most() const {
  std::uint64_t most = 0;
  for (const Sent& sent : open_) most = std::max(most, sent.most);
  return most;
}

std::uint64_t Allowances::most_for_certain() const {
  std::uint64_t most = 0;
  for (const Sent& sent : open_) most = std::max(most, sent.bytes);
  return most;
}

std::uint64_t Allowances::least() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Sent& sent : open_) least = std::min(least, sent.least);
  return least;
}

}  // namespace nvs::core
