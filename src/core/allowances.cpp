// SPDX-License-Identifier: Apache-2.0
#include "core/allowances.h"

namespace nvs::core {

std::uint64_t Allowances::send(std::uint64_t bytes) {
  while (!falling_.empty() && falling_.back().bytes <= bytes) falling_.pop_back();
  bytes_ = bytes;
  falling_.push_back({++number_, bytes});
  return number_;
}

void Allowances::acknowledge(std::uint64_t number) {
  if (number > number_) return;
  std::size_t old = 0;
  while (old < falling_.size() && falling_[old].number < number) ++old;
  falling_.erase(falling_.begin(), falling_.begin() + static_cast<std::ptrdiff_t>(old));
}

}  // namespace nvs::core
