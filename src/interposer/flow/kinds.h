// SPDX-License-Identifier: Apache-2.0
// What submissions of each kind take on the GPU: one kernel differs from another by four orders of
// magnitude, and a program that alternates between a tiny and a huge one has no useful average.
// Kinds share the blame for a span of time in proportion to what they were thought to take, so that
// they can be told apart even if they are rarely seen alone. Pure.
#pragma once

#include <cstdint>

namespace nvs::interposer::flow {

inline constexpr int kKindsMax = 512;
// What a submission is thought to take before one was seen to end.
inline constexpr std::int64_t kFirstGuess_ns = 500'000;

class Kinds {
 public:
  // The place of a kind. One that there is no room for takes that of another, which was not asked
  // for lately: handles end, and programs make ever new ones. Place 0 is of those without a key.
  int find(std::uint64_t key);
  std::int64_t guess_ns(int kind) const;
  bool has_learnt(int kind) const { return kinds_[kind].guess_ns != 0; }

  // A span in which so many submissions of some kinds ran, one after the other.
  struct Count {
    std::uint16_t kind;
    std::uint16_t count;
  };
  static constexpr int kSpanKindsMax = 16;
  struct Span {
    Count counts[kSpanKindsMax];
    int kinds;
    // What there is no room for is added to some other kind.
    void add(int kind, int count = 1);
    void add(const Span& other);
    int submissions() const;
  };
  std::int64_t guess_ns(const Span& span) const;
  // Whether all of these were seen often enough to be relied on.
  bool is_sure(const Span& span) const;
  // Whether the guess was near whenever somebody looked lately, so that the end can be foretold.
  bool is_steady(const Span& span) const;
  // Whether somebody looked when the span ended, or it is only known to have lain within bounds.
  enum class Sight : std::uint8_t { seen, inferred };
  void learn(const Span& span, std::int64_t took_ns, Sight sight);

 private:
  struct Kind {
    std::uint64_t key;
    std::int64_t guess_ns;  // 0: never seen to end
    std::uint64_t used;     // when it was last asked for, in such questions
    std::uint8_t sights;    // how often it was seen to end when it did
    std::uint8_t near;      // how often in a row the guess was
  };
  Kind kinds_[kKindsMax] = {};
  std::uint64_t questions_ = 0;
};

}  // namespace nvs::interposer::flow
