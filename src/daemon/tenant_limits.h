// SPDX-License-Identifier: Apache-2.0
// How much of each GPU a tenant may have, of memory and of compute, and who says so (ADR-0021).
// Several may; the first of the order below that has said anything counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_size.h"
#include "base/limit_word.h"
#include "core/policy.h"

namespace nvs::daemon {

// From the weakest to the strongest.
enum class LimitSource : std::uint8_t {
  none,  // nobody said anything
  defaults,
  run,          // nvshare run --memory, --cores
  environment,  // NVSHARE_GPU_MEMORY_LIMIT, NVSHARE_GPU_CORE_LIMIT
  resource,     // what its container asked Kubernetes for, by the kubelet's word
  annotation,
  admin,
};
inline constexpr std::size_t kLimitSources = static_cast<std::size_t>(LimitSource::admin) + 1;
std::string_view source_word(LimitSource source);

// What is in force.
template <class Value>
struct EffectiveLimit {
  std::optional<Value> value;  // nothing: no limit
  LimitSource source = LimitSource::none;
  bool operator==(const EffectiveLimit&) const = default;
};

class TenantLimits {
 public:
  // In place of what the source said before.
  void say(LimitSource source, const MemoryWord& word) { memory_[index_of(source)] = word; }
  void say(LimitSource source, const CoresWord& word) { cores_[index_of(source)] = word; }

  // What one of the tenant's processes brings along, from its environment or from `nvshare run`. It
  // lowers what others of them brought, or changes nothing: a process that is started with other
  // variables must not raise the limit of all.
  void bring(LimitSource source, const MemoryAmount& memory);
  void bring(LimitSource source, std::uint32_t cores);
  // All that was brought, by another tenant of the same key.
  void bring(const TenantLimits& other);
  bool has_brought() const;

  // Who is not known for sure may lower what the node gives by default, and not raise it.
  enum class Trust : std::uint8_t { full, none };
  void set_trust(Trust trust) { trust_ = trust; }

  EffectiveLimit<MemoryAmount> memory() const;
  EffectiveLimit<std::uint32_t> cores() const;
  // Of the core's kind.
  core::Share cap() const;

 private:
  static std::size_t index_of(LimitSource source) { return static_cast<std::size_t>(source); }

  std::array<MemoryWord, kLimitSources> memory_;
  std::array<CoresWord, kLimitSources> cores_;
  Trust trust_ = Trust::full;
};

}  // namespace nvs::daemon
