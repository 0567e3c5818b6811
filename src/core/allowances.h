// SPDX-License-Identifier: Apache-2.0
// The allowances that a client was sent for a GPU, and what it may go by now: messages are under
// way in both directions, and until it says otherwise it may have read any of those since the one
// that it last named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvs::core {

// Of a client that never answers only so many are told apart; of older ones the most and the least.
inline constexpr std::size_t kAllowancesOpenMax = 32;

class Allowances {
 public:
  // Notes that the client is told; the number to tell it with.
  std::uint64_t send(std::uint64_t bytes);
  // It goes by this one. What is not known, or older than what it said before, means nothing.
  void acknowledge(std::uint64_t number);

  bool any() const { return number_ != 0; }
  // Of the latest.
  std::uint64_t bytes() const { return bytes_; }
  bool is_latest(std::uint64_t number) const { return number == number_; }
  // It said that it goes by the latest.
  bool is_answered() const { return answered_ == number_; }
  // The most and the least that it may go by: of all since the acknowledged one, that one included.
  // If there is none, it has no reason to have more or less than it has.
  std::uint64_t most() const;
  std::uint64_t least() const;
  // The most that it may go by for certain: what was merged may have been answered.
  std::uint64_t most_for_certain() const;

 private:
  struct Sent {
    std::uint64_t number;
    std::uint64_t bytes;
    std::uint64_t most;  // with those before it that were merged
    std::uint64_t least;
  };
  std::uint64_t number_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Sent> open_;
};

}  // namespace nvs::core
