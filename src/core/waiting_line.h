// SPDX-License-Identifier: Apache-2.0
// The line of tenants that wait for a GPU: by class, and within a class least served first. Those
// that need several GPUs at once stand in a line of their own, so that a single one behind many
// gangs that cannot start yet is found without walking past all of them.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <tuple>

#include "core/ids.h"
#include "core/policy.h"
#include "core/seat.h"

namespace nvs::core {

struct LineKey {
  Service service;
  Instant since;  // equals are served in the order in which they came
  TenantId tenant;
  Seat* seat;
  // The seat follows from the tenant; addresses must not decide anything.
  bool operator<(const LineKey& other) const {
    return std::tie(service, since, tenant) < std::tie(other.service, other.since, other.tenant);
  }
};

// By how long a gang waits, for the first of its GPUs.
struct AgeKey {
  Instant since;
  TenantId tenant;
  Seat* seat;
  bool operator<(const AgeKey& other) const {
    return std::tie(since, tenant) < std::tie(other.since, other.tenant);
  }
};

class WaitingLine {
 public:
  using Ordered = std::set<LineKey>;

  // What the order follows from (the seat's class, weight, service, waiting_since, as_gang and
  // put_off, and its tenant's waiting_since) must not change while it stands in the line.
  void add(Seat& seat);
  void remove(Seat& seat);
  // It has turned out to need several GPUs.
  void move_to_gangs(Seat& seat);
  // It does not any more.
  void move_to_singles(Seat& seat);
  // It stands in the line, woke, and has yet to be told whether it may take the GPU in mid-window.
  void put_off(Seat& seat);
  // It has been told, or need not be.
  void hear(Seat& seat);
  void hear_all();
  // Of those put off, the first of the highest class; nobody if there is none.
  Seat* first_put_off() const;

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  std::uint32_t size_of(Priority priority) const;
  const Ordered& singles(Priority priority) const { return lines_[0][index(priority)]; }
  const Ordered& gangs(Priority priority) const { return lines_[1][index(priority)]; }
  // The least served of a class; nothing if nobody of it waits.
  const LineKey* first(Priority priority) const;
  // The gang of a class that has waited longest; nothing if none waits.
  Seat* oldest_gang(Priority priority) const;
  // Of all that wait.
  std::uint32_t weight_of(Priority priority) const { return weights_[index(priority)]; }

 private:
  static std::size_t index(Priority priority) { return static_cast<std::size_t>(priority); }
  static LineKey key_of(Seat& seat);
  static AgeKey age_of(Seat& seat);
  Ordered& line_of(const Seat& seat);

  std::array<std::array<Ordered, kPriorities>, 2> lines_;
  std::array<std::set<AgeKey>, kPriorities> ages_;  // of the gangs
  std::array<Ordered, kPriorities> put_off_;
  std::array<std::uint32_t, kPriorities> weights_{};
  std::uint32_t size_ = 0;
};

}  // namespace nvs::core
