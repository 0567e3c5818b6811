// SPDX-License-Identifier: Apache-2.0
#include "sim_memory.h"

#include <algorithm>
#include <utility>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{64} << 20U;
// How soon it tries again after the driver had no memory, and tells what nobody waits for.
constexpr Duration kRetry = Duration::from_ms(5);
constexpr Duration kTellLater = Duration::from_ms(100);
// For so long the daemon may not know what it took: nobody and nothing is later than that.
constexpr Duration kCrosses = Duration::from_s(2);

}  // namespace

void SimMemory::later(Instant when, std::function<void()> action) {
  time_.at(when, [this, action = std::move(action), life = life_] {
    if (life == life_) action();
  });
}

void SimMemory::start() {
  ++life_;
  resident_ = away_ = coming_ = leaving_ = number_ = 0;
  allowed_.reset();
  started_ = frozen_ = faulted_ = retrying_ = stays_ = false;
  card_.force(plan_.fixed);
  asked_ = plan_.bytes;
  for (const MemoryChange& one : plan_.changes) {
    later(time_.now() + one.at, [this, bytes = one.bytes] { change(bytes); });
  }
}

void SimMemory::end(Duration lag) {
  ++life_;
  card_.give_late(resident_ + coming_ + plan_.fixed, lag);
  resident_ = away_ = asked_ = coming_ = 0;
}

// What was on its way is over, and the driver keeps what was taken for it.
void SimMemory::lose_context() {
  ++life_;
  resident_ += std::exchange(coming_, 0);
  away_ = asked_ = leaving_ = 0;
  retrying_ = false;
  faulted_ = true;
  tell();
}

void SimMemory::tell(bool is_short) {
  if (frozen_) return;
  if (faulted_)
    return owner_.tell(
        {number_, 0, 0, plan_.fixed + resident_, 0, false, true, false, plan_.reached});
  // What is under way may be so because of an earlier one.
  const std::uint64_t number = leaving_ > 0 || coming_ > 0 ? going_by_ : number_;
  // It counts as away, so that nobody takes us for complete; unless we have more than we may.
  const bool is_above = allowed_ && resident_ > *allowed_;
  const std::uint64_t leaving = is_above ? 0 : leaving_;
  owner_.tell({number, resident_ - leaving, away_ + leaving, plan_.fixed, asked_, is_short, false,
               stays_, plan_.reached});
}

void SimMemory::allow(std::uint64_t number, std::uint64_t bytes) {
  number_ = number;
  allowed_ = bytes;
  tell();
  pump();
}

void SimMemory::lose_daemon() {
  number_ = going_by_ = 0;
  allowed_.reset();
}

void SimMemory::thaw() {
  frozen_ = false;
  tell();
  pump();
}

// Also where nothing has to go: then it says so in vain.
void SimMemory::set_stays(bool stays) {
  stays_ = stays;
  tell();
  pump();
}

bool SimMemory::has_grown_lately() const { return grown_ && time_.now() - *grown_ <= kCrosses; }

void SimMemory::pump() {
  if (frozen_ || faulted_ || !allowed_) return;
  move_out();
  move_in();
  allocate();
}

void SimMemory::change(std::int64_t bytes) {
  if (!started_) return;
  if (bytes < 0) {
    free_some(static_cast<std::uint64_t>(-bytes));
    return;
  }
  const auto more = static_cast<std::uint64_t>(bytes);
  const std::uint64_t all = resident_ + away_ + asked_ + more;
  const bool allowed = allowed_ && all <= *allowed_ && asked_ == 0 && !frozen_;
  asked_ += more;
  if (allowed) {
    allocate();
  } else {
    tell();
  }
}

// It keeps a chunk that is under way.
void SimMemory::free_some(std::uint64_t bytes) {
  const std::uint64_t gone = std::min(bytes, away_ - std::min(away_, coming_));
  away_ -= gone;
  const std::uint64_t here = std::min(bytes - gone, resident_ - leaving_);
  resident_ -= here;
  card_.give(here);
  later(time_.now() + kTellLater, [this] { tell(); });
  pump();
}

void SimMemory::allocate() {
  if (asked_ == 0 || !allowed_ || resident_ + away_ + asked_ > *allowed_) return;
  if (!card_.take(asked_)) {
    retry();
    return;
  }
  resident_ += std::exchange(asked_, 0);
  grown_ = time_.now();
  if (!std::exchange(started_, true)) {
    tell();
    owner_.on_first_complete();
  } else {
    later(time_.now() + kTellLater, [this] { tell(); });
  }
}

void SimMemory::retry() {
  tell(true);
  if (std::exchange(retrying_, true)) return;
  later(time_.now() + kRetry, [this] {
    retrying_ = false;
    pump();
  });
}

void SimMemory::move_out() {
  if (leaving_ > 0 || stays_ || resident_ <= *allowed_ || !owner_.may_move_out()) return;
  if (coming_ == 0) going_by_ = number_;
  const std::uint64_t chunk = std::min(resident_ - *allowed_, kChunk);
  leaving_ = chunk;
  later(card_.move(chunk, false), [this, chunk] {
    leaving_ = 0;
    resident_ -= chunk;
    away_ += chunk;
    card_.give(chunk);
    tell();
    pump();
  });
}

void SimMemory::move_in() {
  if (coming_ > 0 || leaving_ > 0 || away_ == 0 || *allowed_ <= resident_) return;
  const std::uint64_t chunk = std::min({away_, *allowed_ - resident_, kChunk});
  if (!card_.take(chunk)) {
    retry();
    return;
  }
  going_by_ = number_;
  coming_ = chunk;
  later(card_.move(chunk, true), [this, chunk] {
    coming_ = 0;
    resident_ += chunk;
    away_ -= chunk;
    tell();
    pump();
  });
}

}  // namespace nvs::sim
