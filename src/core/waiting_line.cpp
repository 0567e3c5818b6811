// SPDX-License-Identifier: Apache-2.0
#include "core/waiting_line.h"

#include "base/assert.h"
#include "core/books.h"

namespace nvs::core {

LineKey WaitingLine::key_of(Seat& seat) {
  return {seat.service, seat.waiting_since, seat.tenant->id, &seat};
}

AgeKey WaitingLine::age_of(Seat& seat) {
  return {seat.tenant->waiting_since, seat.tenant->id, &seat};
}

WaitingLine::Ordered& WaitingLine::line_of(const Seat& seat) {
  return lines_[seat.as_gang ? 1 : 0][index(seat.tenant->priority)];
}

void WaitingLine::add(Seat& seat) {
  const bool fresh = line_of(seat).insert(key_of(seat)).second;
  NVS_ASSERT(fresh);
  if (seat.as_gang) ages_[index(seat.tenant->priority)].insert(age_of(seat));
  if (seat.put_off) put_off_[index(seat.tenant->priority)].insert(key_of(seat));
  weights_[index(seat.tenant->priority)] += seat.tenant->weight;
  ++size_;
}

void WaitingLine::remove(Seat& seat) {
  const std::size_t gone = line_of(seat).erase(key_of(seat));
  NVS_ASSERT(gone == 1);
  if (seat.as_gang) ages_[index(seat.tenant->priority)].erase(age_of(seat));
  if (seat.put_off) put_off_[index(seat.tenant->priority)].erase(key_of(seat));
  weights_[index(seat.tenant->priority)] -= seat.tenant->weight;
  --size_;
}

void WaitingLine::move_to_gangs(Seat& seat) {
  if (seat.as_gang) return;
  remove(seat);
  seat.as_gang = true;
  add(seat);
}

void WaitingLine::move_to_singles(Seat& seat) {
  if (!seat.as_gang) return;
  remove(seat);
  seat.as_gang = false;
  add(seat);
}

void WaitingLine::put_off(Seat& seat) {
  seat.put_off = true;
  put_off_[index(seat.tenant->priority)].insert(key_of(seat));
}

void WaitingLine::hear(Seat& seat) {
  if (!seat.put_off) return;
  seat.put_off = false;
  put_off_[index(seat.tenant->priority)].erase(key_of(seat));
}

void WaitingLine::hear_all() {
  while (Seat* seat = first_put_off()) hear(*seat);
}

Seat* WaitingLine::first_put_off() const {
  for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
    const Ordered& line = put_off_[index(priority)];
    if (!line.empty()) return line.begin()->seat;
  }
  return nullptr;
}

std::uint32_t WaitingLine::size_of(Priority priority) const {
  return static_cast<std::uint32_t>(singles(priority).size() + gangs(priority).size());
}

const LineKey* WaitingLine::first(Priority priority) const {
  const Ordered& single = singles(priority);
  const Ordered& gang = gangs(priority);
  if (gang.empty()) return single.empty() ? nullptr : &*single.begin();
  if (single.empty() || *gang.begin() < *single.begin()) return &*gang.begin();
  return &*single.begin();
}

Seat* WaitingLine::oldest_gang(Priority priority) const {
  const std::set<AgeKey>& ages = ages_[index(priority)];
  return ages.empty() ? nullptr : ages.begin()->seat;
}

}  // namespace nvs::core
