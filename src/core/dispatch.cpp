// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch.h"

#include <algorithm>

#include "core/accounts.h"
#include "core/choice.h"
#include "core/gangs.h"
#include "core/overdue.h"
#include "core/readiness.h"
#include "core/residency.h"
#include "core/terms.h"
#include "core/throttle.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

void open_all(Node& node, Gpu& gpu) {
  while (!gpu.line.empty()) {
    for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
      if (const LineKey* first = gpu.line.first(priority)) {
        open_window(node, *first->seat);
        break;
      }
    }
  }
}

void start(Node& node, Gpu& gpu, const Choice& choice) {
  if (!choice.gang.empty()) {
    reserve(node, choice.gang);
  } else if (gpu.open != nullptr) {
    gpu.promised = choice.seat;
    end_window(node, *gpu.open);
  } else {
    gpu.promised = nullptr;
    gpu.line.hear_all();  // they had their turn to be chosen
    open_window(node, *choice.seat);
    set_window(*choice.seat, node.now);
    tell_first_in_line(node, *choice.seat);
  }
}

// Whoever has just lost its window does not get it back before the one for whom it was ended; but
// that may need another GPU as well by now, and must not open here alone.
void keep_promise(const Gpu& gpu, Choice& choice, Instant now) {
  if (gpu.promised == nullptr || !choice.gang.empty()) return;
  if (is_gang(*gpu.promised->tenant, now)) return;
  const bool same_class = gpu.promised->tenant->priority == choice.seat->tenant->priority;
  if (same_class && choice.seat->tenant->id == gpu.last_held) choice.seat = gpu.promised;
}

// It is heard again when the burst that it waits for turns out to be another kind of burst.
void put_off(Node& node, Gpu& gpu, Seat* waker) {
  if (waker == nullptr) return;
  const auto until = put_off_until(*waker, *gpu.open, node.now);
  if (!until) return;
  gpu.line.put_off(*waker);
  gpu.try_again = std::min(gpu.try_again.value_or(*until), *until);
}

// Somebody waits for a GPU whose window is open.
void contest(Node& node, Gpu& gpu, Seat* waker) {
  Seat& holder = *gpu.open;
  const bool ended = node.now >= end_of_window(holder);
  if (ended && is_kept(holder)) {
    // The gang goes on where it works.
    end_window_here(node, holder);
    return;
  }
  const bool idle = is_idle(holder);
  const bool wakes =
      !ended && !idle && waker != nullptr && may_take(*waker, holder, node.now, Taker::waking);
  if (!ended && !idle && !wakes) return put_off(node, gpu, waker);
  const auto choice = choose(node, gpu);
  if (!choice) return;
  // The one that wakes ends the window even if somebody to whom a window is owed goes before it
  // then.
  const bool taken = wakes && (choice->seat == waker || !waker->as_gang);
  if (choice->gang.empty() && !taken &&
      !may_take(*choice->seat, holder, node.now, Taker::waiting)) {
    // It is the holder's turn again; a drain in between would only cost time.
    if (ended) renew_window(holder, node.now);
    holder.overdue = holder.overdue && !ended;
    return;
  }
  if (wakes && choice->seat == waker) choice->seat->woke = true;
  start(node, gpu, *choice);
}

// Whoever was put off, least served first, until one has to wait on: the others wait for the same.
void hear_put_off(Node& node, Gpu& gpu) {
  while (gpu.open != nullptr && gpu.reserved == nullptr) {
    Seat* first = gpu.line.first_put_off();
    if (first == nullptr) return;
    gpu.line.hear(*first);
    contest(node, gpu, first);
    if (first->put_off) return;
  }
}

// The GPU is kept for a gang, but not from one that would take it as soon as the gang has opened:
// both would only wait for drains elsewhere. A gang that is overdue, or whose window is owed to its
// class, has that first.
void hear_beside_gang(Node& node, Gpu& gpu, Seat& waker) {
  gpu.line.put_off(waker);
  Tenant& gang = *gpu.reserved;
  if (gpu.floors.is_due(gang.priority, span_of(gpu.policy)) || is_overdue(gang, node.now)) return;
  const Seat& member = *gang.seats[index_of(gpu.id)];
  if (!waker.as_gang && outranks(waker, member, node.now)) cancel_reservation(node, gang);
}

// Of tenants that work in turns, the next one to come will be another. It then finds the GPU free
// and need not wait until a process that sleeps has woken up and closed its gate.
bool is_left_behind(const Seat& holder, Instant now) {
  if (holder.in_gang || !is_idle(holder) || is_resting(holder, now)) return false;
  return is_kept(holder) || (holder.took_over && holder.terms.bounded());
}

void dispatch(Node& node, Gpu& gpu) {
  gpu.account(node.now);
  if (gpu.quota.capped > 0) enforce_caps(node, gpu);
  manage_memory(node, gpu);
  // If turns in memory have begun or ended with that, those that save up wait for more or less.
  if (gpu.quota.capped > 0 && period_of(gpu) != gpu.quota.period) enforce_caps(node, gpu);
  Seat* const waker = std::exchange(gpu.waker, nullptr);
  gpu.try_again.reset();
  if (gpu.reserved != nullptr && waker != nullptr) hear_beside_gang(node, gpu, *waker);
  if (!gpu.has_windows()) {
    open_all(node, gpu);
  } else if (gpu.reserved != nullptr) {
    open_reserved(node, gpu);
  } else if (gpu.line.empty()) {
    if (gpu.open != nullptr && is_left_behind(*gpu.open, node.now)) end_window(node, *gpu.open);
  } else if (gpu.open != nullptr) {
    contest(node, gpu, waker);
    hear_put_off(node, gpu);
  } else if (gpu.holders.empty()) {
    if (auto choice = choose(node, gpu)) {
      keep_promise(gpu, *choice, node.now);
      start(node, gpu, *choice);
    }
  }
}

void set_deadline(Node& node, Gpu& gpu) {
  std::optional<Instant> at = gpu.try_again;
  const auto no_later_than = [&at](Instant other) { at = at ? std::min(*at, other) : other; };
  if (gpu.memory.due) no_later_than(*gpu.memory.due);
  if (gpu.quota.capped > 0) {
    if (const auto due = next_cap_event(gpu, node.now)) no_later_than(*due);
  }
  if (gpu.open != nullptr) {
    const Instant end = end_of_window(*gpu.open);
    const bool matters = !gpu.line.empty() || is_resting(*gpu.open, node.now);
    if (matters && end > node.now) no_later_than(end);
    if (const auto until = gpu.presence.until(node.now); until && gpu.present == 1) {
      no_later_than(*until);
    }
  }
  node.deadlines.move(gpu.timer, at, gpu.id);
}

}  // namespace

void dispatch_touched(Node& node) {
  // A decision may touch further GPUs, or the same one again; the list grows while it is walked.
  for (std::size_t i = 0; i < node.touched.size(); ++i) {
    Gpu& gpu = *node.touched[i];
    gpu.touched = false;
    dispatch(node, gpu);
  }
  for (Gpu* gpu : node.touched) {
    gpu->memory.passes = 0;
    if (gpu->open != nullptr) refresh_terms(node, *gpu->open);
    set_deadline(node, *gpu);
  }
  node.touched.clear();
}

}  // namespace nvs::core
