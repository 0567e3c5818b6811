// SPDX-License-Identifier: Apache-2.0
#include "daemon/capacity.h"

#include <algorithm>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); }
std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

bool Capacity::poll(const Poll& poll) {
  const bool is_still = last_ && last_->used == poll.used && last_->moves == poll.moves;
  last_ = poll;
  still_ = is_still ? still_ + 1 : 0;
  // What is kept for a client that has yet to take it is neither used nor free: as long as the
  // rest can be as it was, it is.
  const std::uint64_t least = less(poll.used, poll.claimed);
  const std::uint64_t most = less(poll.used, less(poll.claimed, poll.early));
  const std::uint64_t other = std::clamp(other_, least, most);
  const int needed = other > other_ ? kStillPollsForMore : kStillPollsForLess;
  if (still_ < needed || size_ == 0) return false;
  if (poll.processes > 0) {
    const std::uint64_t each = std::min(other / poll.processes, kContextMax);
    context_ = std::max(context_.value_or(0), each);
  }
  if (distance(other, other_) < kCapacityStep) return false;
  const std::uint64_t before = bytes();
  other_ = other;
  return bytes() != before;
}

std::uint64_t Capacity::bytes() const {
  if (size_ == 0) return 0;
  return std::max<std::uint64_t>(less(size_, other_), 1);  // 0 would be without a limit
}

std::uint64_t Capacity::context_estimate() const { return context_.value_or(kContextGuess); }

std::uint64_t Capacity::visible() const {
  return size_ - std::min(kContextsKept * context_estimate(), size_ / kVisibleReservePart);
}

bool Demand::is_crowded() const { return asked > less(places, allocated); }

std::uint64_t limit_of(const Demand& demand, std::uint64_t total, std::uint64_t own) {
  const std::uint64_t most = std::min(total, demand.on_gpu);
  if (!demand.is_crowded()) return most;
  return std::min(most, own + less(demand.places, demand.allocated));
}

bool is_news(std::uint64_t before, std::uint64_t limit, std::uint64_t total) {
  return distance(before, limit) > kLimitStep || (limit == total && before != total);
}

}  // namespace nvs::daemon
