// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenant_limits.h"

#include <algorithm>

#include "base/assert.h"

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, kLimitSources> kSourceWords = {
    "none", "default", "run", "environment", "resource", "annotation", "admin"};
constexpr std::array<LimitSource, 2> kBrought = {LimitSource::environment, LimitSource::run};
constexpr core::Share kShareOfPercent = core::kWholeGpu / kPercentMost;

template <class Value>
using Words = std::array<LimitWord<Value>, kLimitSources>;

template <class Value>
EffectiveLimit<Value> strongest(const Words<Value>& words) {
  for (std::size_t i = words.size(); i-- > 0;) {
    if (words[i].is_unset()) continue;
    const bool is_set = words[i].kind == LimitWord<Value>::Kind::set;
    return {is_set ? std::optional(words[i].value) : std::nullopt, static_cast<LimitSource>(i)};
  }
  return {};
}

std::uint32_t lower_of(std::uint32_t a, std::uint32_t b) { return std::min(a, b); }
MemoryAmount lower_of(const MemoryAmount& a, const MemoryAmount& b) { return tightest(a, b); }

// An administrator's word as ever; else the lowest of all that the others say.
template <class Value>
EffectiveLimit<Value> lowest_of_untrusted(const Words<Value>& words) {
  constexpr auto kAdmin = static_cast<std::size_t>(LimitSource::admin);
  if (!words[kAdmin].is_unset()) return strongest(words);
  EffectiveLimit<Value> lowest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const LimitWord<Value>& word = words[i];
    if (word.kind != LimitWord<Value>::Kind::set) continue;
    // Of bytes and percent, which cannot be compared, both hold.
    const Value both = lowest.value ? lower_of(*lowest.value, word.value) : word.value;
    if (both != lowest.value) lowest = {both, static_cast<LimitSource>(i)};
  }
  return lowest;
}

// Of all that was brought there is one word, that of whoever lowered it last.
template <class Value>
void bring_into(Words<Value>& words, LimitSource source, Value value) {
  NVS_ASSERT(source == LimitSource::environment || source == LimitSource::run);
  Value lowest = value;
  for (const LimitSource brought : kBrought) {
    LimitWord<Value>& word = words[static_cast<std::size_t>(brought)];
    if (word.is_unset()) continue;
    lowest = lower_of(lowest, word.value);
    if (lowest == word.value) return;
    word = {};
  }
  words[static_cast<std::size_t>(source)] = LimitWord<Value>::of(lowest);
}

}  // namespace

std::string_view source_word(LimitSource source) {
  return kSourceWords.at(static_cast<std::size_t>(source));
}

void TenantLimits::bring(LimitSource source, const MemoryAmount& memory) {
  bring_into(memory_, source, memory);
}
void TenantLimits::bring(LimitSource source, std::uint32_t cores) {
  bring_into(cores_, source, cores);
}

void TenantLimits::bring(const TenantLimits& other) {
  for (const LimitSource source : kBrought) {
    const MemoryWord& memory = other.memory_[index_of(source)];
    const CoresWord& cores = other.cores_[index_of(source)];
    if (!memory.is_unset()) bring(source, memory.value);
    if (!cores.is_unset()) bring(source, cores.value);
  }
}

bool TenantLimits::has_brought() const {
  return std::any_of(kBrought.begin(), kBrought.end(), [this](LimitSource source) {
    return !memory_[index_of(source)].is_unset() || !cores_[index_of(source)].is_unset();
  });
}

EffectiveLimit<MemoryAmount> TenantLimits::memory() const {
  return trust_ == Trust::full ? strongest(memory_) : lowest_of_untrusted(memory_);
}
EffectiveLimit<std::uint32_t> TenantLimits::cores() const {
  return trust_ == Trust::full ? strongest(cores_) : lowest_of_untrusted(cores_);
}

core::Share TenantLimits::cap() const {
  const auto percent = cores().value;
  return percent ? *percent * kShareOfPercent : core::kNoCap;
}

}  // namespace nvs::daemon
