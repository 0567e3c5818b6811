// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/kinds.h"

namespace nvs::interposer::flow {
namespace {

// Where a key is looked for first. Handles are addresses, whose low bits tell little.
std::uint32_t slot_of(std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  return static_cast<std::uint32_t>((key * kGolden) >> 40U) % (kKindsMax - 1) + 1;
}

constexpr std::int64_t kShortest_ns = 500;
constexpr int kCountMax = 0xffff;
constexpr int kSureAfter = 4;
// Whoever looks, and the way of the GPU to us, are that much off.
constexpr std::int64_t kNear_ns = 80'000;

}  // namespace

int Kinds::find(std::uint64_t key) {
  if (key == 0) return 0;
  constexpr std::uint32_t kProbes = 8;
  ++questions_;
  std::uint32_t at = slot_of(key);
  std::uint32_t place = at;
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    if (kinds_[at].used < kinds_[place].used) place = at;
    if (kinds_[at].key == key || kinds_[at].key == 0) {
      place = at;
      break;
    }
    at = at % (kKindsMax - 1) + 1;
  }
  if (kinds_[place].key != key) kinds_[place] = {};
  kinds_[place].key = key;
  kinds_[place].used = questions_;
  return static_cast<int>(place);
}

std::int64_t Kinds::guess_ns(int kind) const {
  const std::int64_t own_ns = kinds_[kind].guess_ns;
  return own_ns != 0 ? own_ns : kFirstGuess_ns;
}

void Kinds::Span::add(int kind, int count) {
  int at = 0;
  while (at < kinds && counts[at].kind != kind) ++at;
  if (at == kSpanKindsMax) at = 0;
  if (at == kinds) counts[kinds++] = {static_cast<std::uint16_t>(kind), 0};
  const int sum = counts[at].count + count;
  counts[at].count = static_cast<std::uint16_t>(sum < kCountMax ? sum : kCountMax);
}

void Kinds::Span::add(const Span& other) {
  for (int i = 0; i < other.kinds; ++i) add(other.counts[i].kind, other.counts[i].count);
}

int Kinds::Span::submissions() const {
  int sum = 0;
  for (int i = 0; i < kinds; ++i) sum += counts[i].count;
  return sum;
}

std::int64_t Kinds::guess_ns(const Span& span) const {
  std::int64_t sum_ns = 0;
  for (int i = 0; i < span.kinds; ++i)
    sum_ns += span.counts[i].count * guess_ns(span.counts[i].kind);
  return sum_ns;
}

bool Kinds::is_sure(const Span& span) const {
  for (int i = 0; i < span.kinds; ++i) {
    if (kinds_[span.counts[i].kind].sights < kSureAfter) return false;
  }
  return true;
}

bool Kinds::is_steady(const Span& span) const {
  for (int i = 0; i < span.kinds; ++i) {
    if (kinds_[span.counts[i].kind].near < kSureAfter) return false;
  }
  return true;
}

void Kinds::learn(const Span& span, std::int64_t took_ns, Sight sight) {
  const std::int64_t thought_ns = guess_ns(span);
  if (thought_ns == 0) return;
  const double ratio =
      static_cast<double>(took_ns > 0 ? took_ns : 1) / static_cast<double>(thought_ns);
  const std::int64_t error_ns = took_ns > thought_ns ? took_ns - thought_ns : thought_ns - took_ns;
  const bool is_near = error_ns <= (thought_ns / 32 > kNear_ns ? thought_ns / 32 : kNear_ns);
  // A first sight, or the end of a slow phase, tells more than one sight among many.
  const double far = ratio < 0.125 ? 0.5 : 0.125;
  for (int i = 0; i < span.kinds; ++i) {
    Kind& kind = kinds_[span.counts[i].kind];
    const auto before_ns = static_cast<double>(guess_ns(span.counts[i].kind));
    const double weight = kind.guess_ns == 0 ? 0.75 : far;
    const auto after_ns = static_cast<std::int64_t>(before_ns + weight * (ratio - 1) * before_ns);
    kind.guess_ns = after_ns > kShortest_ns ? after_ns : kShortest_ns;
    if (sight == Sight::seen && kind.sights < kSureAfter) ++kind.sights;
    // Nobody looked, or it was far off: it may not be what it was.
    if (sight == Sight::inferred || ratio < 0.5 || ratio > 2) kind.sights = 0;
    if (!is_near) {
      kind.near = 0;
    } else if (sight == Sight::seen && kind.near < kSureAfter) {
      ++kind.near;
    }
  }
}

}  // namespace nvs::interposer::flow
