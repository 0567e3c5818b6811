// SPDX-License-Identifier: Apache-2.0
// Arenas against a map of what is allocated, over many random operations.
#include <iterator>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/arena.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kArenaModelBase = std::uint64_t{1} << 40U;

// What a program with small allocations does, and a map of them.
class ArenaModel {
 public:
  void take_some() {
    const SpanOwner& owner = owners_[random_() % std::size(owners_)];
    const std::uint64_t bytes = 1 + random_() % (std::uint64_t{1} << (random_() % 22));
    Took took = Took::no_memory;
    const Piece* piece = arenas_.take(owner, bytes, took);
    if (took == Took::no_room) {
      const std::uint64_t arena = arenas_.next_bytes(owner);
      ASSERT_TRUE(arenas_.add(owner, next_base_, arena));
      next_base_ += arena;
      piece = arenas_.take(owner, bytes, took);
      ASSERT_NE(piece, nullptr);
    }
    ASSERT_EQ(took, bytes < kSmallEnd ? Took::done : Took::bad_size);
    if (piece == nullptr) return;
    ASSERT_EQ(piece->base % kSmallStep, 0U);
    ASSERT_TRUE(piece->bytes >= bytes && piece->bytes - bytes < kSmallStep);
    ASSERT_TRUE(piece->span->group->owner == owner);
    ASSERT_GE(piece->base, piece->span->base);
    ASSERT_LE(piece->base + piece->bytes, piece->span->base + piece->span->bytes);
    const auto next = taken_.lower_bound(piece->base);
    if (next != taken_.end()) {
      ASSERT_LE(piece->base + piece->bytes, next->first);
    }
    if (next != taken_.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, piece->base);
    }
    taken_[piece->base] = piece->bytes;
  }

  void give_some() {
    auto victim =
        taken_.lower_bound(kArenaModelBase + random_() % (next_base_ - kArenaModelBase + 1));
    if (victim == taken_.end()) return;
    const std::uint64_t inside = victim->first + random_() % victim->second;
    ASSERT_EQ(arenas_.find(inside)->base, victim->first);
    const Span* arena = arenas_.give(victim->first);
    ASSERT_NE(arena, nullptr);
    ASSERT_EQ(arenas_.find(inside), nullptr);
    taken_.erase(victim);
    const auto rest = taken_.lower_bound(arena->base);
    const bool is_empty = rest == taken_.end() || rest->first >= arena->base + arena->bytes;
    ASSERT_EQ(arena->is_empty(), is_empty);
    if (is_empty && random_() % 2 == 0) {
      ASSERT_TRUE(arenas_.remove_empty(arena->base));
    }
  }

  // The pieces of a span cover it, and no two free ones are neighbours.
  void check() const {
    std::map<std::uint64_t, std::uint64_t> used;
    for (const Span* span = arenas_.next(0); span != nullptr; span = arenas_.next(span->base)) {
      std::uint64_t end = span->base;
      for (const Piece* piece = span->first; piece != nullptr; piece = piece->after) {
        ASSERT_EQ(piece->base, end);
        end += piece->bytes;
        if (piece->asked != 0) used[piece->base] = piece->bytes;
        if (piece->after == nullptr) continue;
        ASSERT_EQ(piece->after->before, piece);
        ASSERT_TRUE(piece->asked != 0 || piece->after->asked != 0);
      }
      ASSERT_EQ(end, span->base + span->bytes);
    }
    ASSERT_EQ(used, taken_);
    std::uint64_t bytes_used = 0;
    std::uint64_t pieces = 0;
    for (const SpanOwner& owner : owners_) {
      bytes_used += arenas_.usage(owner).bytes_used;
      pieces += arenas_.usage(owner).pieces;
    }
    ASSERT_EQ(pieces, taken_.size());
    for (const auto& [base, bytes] : taken_) bytes_used -= bytes;
    ASSERT_EQ(bytes_used, 0U);
  }

  void end() {
    while (!taken_.empty()) {
      arenas_.give(taken_.begin()->first);
      taken_.erase(taken_.begin());
    }
    check();
    while (const Span* span = arenas_.next(0)) ASSERT_TRUE(arenas_.remove_empty(span->base));
    for (const SpanOwner& owner : owners_) {
      const SpanUsage usage = arenas_.usage(owner);
      ASSERT_EQ(usage.bytes_reserved + usage.bytes_used + usage.pieces + usage.spans, 0U);
    }
    ASSERT_EQ(arenas_.bytes_of_books(), 0U);
  }

  bool likes_taking(int step) { return random_() % 100 < (step / 10000 % 2 == 0 ? 60U : 40U); }

 private:
  static constexpr SpanOwner owners_[] = {{5, 0}, {5, 1}, {9, 0}};
  std::mt19937 random_{17};
  Arenas arenas_;
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::uint64_t next_base_ = kArenaModelBase;
};

TEST(ArenaModelTest, AgreesWithAMapInRandomOrder) {
  ArenaModel model;
  for (int i = 0; i < 100000; ++i) {
    if (model.likes_taking(i)) {
      model.take_some();
    } else {
      model.give_some();
    }
    if (i % 1000 == 0) model.check();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << i;
  }
  model.end();
}

}  // namespace
}  // namespace nvs::interposer::vmm
