// SPDX-License-Identifier: Apache-2.0
// What is to happen if nothing else does: one deadline for each GPU and each gate, in the order of
// time. The owner keeps its deadline as well, so that it can be moved without a search.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>

#include "base/instant.h"
#include "core/ids.h"

namespace nvs::core {

struct Deadline {
  enum class Of : std::uint8_t { gpu, gate };

  Instant at;
  Of of = Of::gpu;
  GpuId gpu{};
  ClientId client{};  // of a gate
  auto operator<=>(const Deadline&) const = default;
};

class Deadlines {
 public:
  // Moves what stands in `slot` to `to`; nothing means that there is no deadline.
  void move(std::optional<Instant>& slot, std::optional<Instant> to, GpuId gpu);
  void move(std::optional<Instant>& slot, std::optional<Instant> to, GpuId gpu, ClientId client);

  std::optional<Instant> next() const;
  // Takes out the first deadline that has come. Its owner's slot still shows it: clear that.
  std::optional<Deadline> take_due(Instant now);

 private:
  void move(std::optional<Instant>& slot, std::optional<Instant> to, Deadline deadline);

  std::set<Deadline> ordered_;
};

}  // namespace nvs::core
