// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/mover.h"

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/check.h"
#include "interposer/memory/swap/flight.h"
#include "interposer/memory/swap/host.h"
#include "interposer/memory/swap/known.h"
#include "interposer/memory/swap/presence.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/make_way.h"
#include "interposer/session/memory.h"
#include "interposer/session/thread.h"

namespace nvs::interposer::swap {
namespace {

using vmm::ChunkEvent;
using vmm::ChunkState;
using Stage = Flight::Stage;

constexpr std::int64_t kIdle_ns = 1'000'000'000;
// The driver lacks memory: others are about to give theirs back.
constexpr std::int64_t kShort_ns = 1'000'000;
// Host memory is missing, or a context is about to end; a change wakes us sooner.
constexpr std::int64_t kMissing_ns = 200'000'000;
// A copy is under way, and more may be allowed any moment.
constexpr std::int64_t kGlance_ns = 100'000;

constinit std::atomic<bool> started[gate::kGpusMax] = {};

enum class Step : std::uint8_t { begun, nothing, short_of_memory, missing };

class Mover {
 public:
  constexpr Mover() = default;
  explicit constexpr Mover(int gpu) : gpu_(gpu) {}

  // Moves all that there is to move, as long as it can. How long to wait for a change then.
  std::int64_t run() {
    Step step = Step::nothing;
    is_missing_ = is_in_the_way_ = has_learnt_ = false;
    if (stays_until_ns_ != 0 && need_not_stay()) stay(0);
    do {
      const std::uint32_t seen = rooms[gpu_].changes.load(std::memory_order_acquire);
      step = begin_next();
      // The first few by themselves, so that copying begins; then all others.
      const bool is_first = unhashed_ == kLeaving && in_flight_ == kLeaving;
      if (is_first || is_full() || step != Step::begun) hash_begun();
      submit_hashed();
      if (in_flight_ > 0 && (is_full() || step != Step::begun)) finish_or_wait(seen, step);
    } while (step == Step::begun || in_flight_ > 0);
    session::memory_rests();
    if (step == Step::short_of_memory) return kShort_ns;
    if (is_in_the_way_) return make_way();
    return step == Step::missing || is_missing_ || stays_until_ns_ != 0 ? kMissing_ns : kIdle_ns;
  }

 private:
  // What others' work is in the way of stays for a while, as where a drain was refused: the daemon
  // is told so, plans with the rest, and lets whoever needs this wait.
  std::int64_t make_way() {
    const session::Way way = session::make_way(gpu_);
    if (way == session::Way::blocked) stay(os::monotonic_ns() + session::kStays_ns);
    return way == session::Way::clear ? kIdle_ns : kMissing_ns;
  }
  // What was in the way may have ended by itself.
  bool need_not_stay() const {
    const bool is_over = session::ClosedGates(session::Owner{gpu_}).is_so() && !is_kept();
    return is_over || os::monotonic_ns() >= stays_until_ns_;
  }
  void stay(std::int64_t until_ns) {
    stays_until_ns_ = until_ns;
    {
      const os::FutexGuard guard(lock);
      rooms[gpu_].stays = until_ns != 0 ? regions.sums(gpu_).resident : 0;
      changed(gpu_);
    }
    session::tell_holds(gpu_);
  }

  int slot_of(int age) const { return (oldest_ + age) % kSlots; }
  bool is_full() const { return in_flight_ == (direction_ == Direction::out ? kSlots : kComing); }

  Step begin_next() {
    if (is_full()) return Step::begun;
    if (is_missing_) return Step::missing;
    const int slot = slot_of(in_flight_);
    Flight& flight = flights_[slot];
    flight = {};
    if (!plan(flight)) return Step::nothing;
    flight.address = flight.chunk_address();
    const Step begun = direction_ == Direction::out ? begin_out(flight) : begin_in(flight, slot);
    if (begun != Step::begun) return begun;
    ++in_flight_;
    if (direction_ == Direction::out) ++unhashed_;
    return begun;
  }

  // With the lock held.
  vmm::Need need_of(const vmm::Sums& sums) const {
    return vmm::need_of(sums, rooms[gpu_].backing, allowance(gpu_));
  }

  // Chooses the next chunk and marks it as being under way. Nothing leaves unless the gates of all
  // GPUs that can reach it are closed and drained, which the session's lock keeps so until the
  // chunk is marked. All that is in flight ends before the direction changes.
  bool plan(Flight& flight) {
    const session::ClosedGates closed(session::Owner{gpu_});
    const os::FutexGuard guard(lock);
    if (rooms[gpu_].is_faulted) return false;
    const vmm::Need need = need_of(regions.sums(gpu_));
    const bool may_leave = need.out > 0 && closed.is_so() && !is_kept();
    is_in_the_way_ = need.out > 0 && !may_leave;
    const Direction direction = may_leave ? Direction::out : Direction::in;
    if (in_flight_ > 0 && direction != direction_) return false;
    direction_ = direction;
    if (direction == Direction::out) {
      if (vmm::plan_out(regions, gpu_, need.out, &flight.move, 1).moves == 0) return false;
      note(flight, {.event = ChunkEvent::began_out});
    } else {
      if (need.in == 0) return false;
      if (vmm::plan_in(regions, gpu_, need.in, &flight.move, 1).moves == 0) return false;
      note(flight, {.event = ChunkEvent::began_in});
    }
    flight.handle = flight.chunk().handle;
    flight.place = flight.chunk().place;
    return true;
  }

  Step begin_out(Flight& flight) {
    if (flight.chunk().clean) {
      flight.stage = flight.place.is_some() ? Stage::same : Stage::zero;
      return Step::begun;
    }
    if (!flight.take_lane()) {
      finish_out(flight, Stage::cancelled);
      return Step::missing;
    }
    return Step::begun;
  }

  // Hashes what was begun since the last time, as far as it goes together.
  void hash_begun() {
    while (unhashed_ > 0) {
      const int first = slot_of(in_flight_ - unhashed_);
      int count = 0;
      for (; count < unhashed_ && goes_with(first, first + count); ++count) {
        const Flight& flight = flights_[first + count];
        stretches_[count] = {flight.address, flight.move.bytes};
      }
      if (count > 0 && flights_[first].lane.begin_hashes(first, stretches_, count)) {
        for (int i = 0; i < count; ++i) {
          flights_[first + i].stage = Stage::hashing;
          flights_[first + i].hash_group = first;
        }
      }
      unhashed_ -= count > 0 ? count : 1;  // one that needs no hash
    }
  }
  bool goes_with(int first, int slot) const {
    return slot < kSlots && flights_[slot].stage == Stage::begun &&
           flights_[slot].lane.is_same(flights_[first].lane);
  }

  // Of those that have been hashed, so many are copied that the bus is busy.
  void submit_hashed() {
    if (direction_ != Direction::out) return;
    int copying = 0;
    for (int age = 0; age < in_flight_ - unhashed_ && copying < kLeaving; ++age) {
      const int slot = slot_of(age);
      Flight& flight = flights_[slot];
      if (flight.stage == Stage::hashing || flight.stage == Stage::begun) submit_out(flight, slot);
      if (flight.stage == Stage::copying) ++copying;
    }
  }

  void submit_out(Flight& flight, int slot) {
    Lane::Content content{};
    if (flight.stage == Stage::hashing && flight.lane.end_hash(flight.hash_group, slot, content)) {
      flight.stage = content.is_zero ? Stage::zero : flight.stage;
      flight.hash = content.hash;
    }
    if (flight.stage == Stage::zero) return;
    flight.stage = may_stay(flight) ? Stage::cancelled : find_place(flight);
    if (flight.stage != Stage::copying) return;
    const std::uint64_t host = host_address(flight.place);
    make_known(host, flight.move.bytes);
    if (!flight.lane.copy(Direction::out, slot, flight.address, host, flight.move.bytes)) {
      is_missing_ = true;
      flight.stage = Stage::cancelled;
    }
  }

  // More is allowed by now than when it was chosen.
  bool may_stay(const Flight& flight) const {
    const os::FutexGuard guard(lock);
    vmm::Sums without = regions.sums(gpu_);
    without.resident += flight.move.bytes;
    return need_of(without).out == 0;
  }

  // Where it is to be copied; unless that is what is there already.
  Stage find_place(Flight& flight) {
    const os::FutexGuard guard(lock);
    if (flight.hash.is_known()) note(flight, {.event = ChunkEvent::hashed, .hash = flight.hash});
    if (flight.chunk().clean) return Stage::same;
    if (flight.place.is_some()) return Stage::copying;
    vmm::Took took = vmm::Took::done;
    flight.place = host_room.take(flight.move.bytes, took);
    flight.has_new_place = flight.place.is_some();
    if (flight.has_new_place) return Stage::copying;
    host_is_missing(flight.move.bytes);
    is_missing_ = true;
    return Stage::cancelled;
  }

  Step begin_in(Flight& flight, int slot) {
    const CUresult backed = back(gpu_, flight.address, flight.move.bytes, flight.handle);
    if (backed != CUDA_SUCCESS) {
      flight.handle = 0;
      finish_in(flight, false);
      if (backed != CUDA_ERROR_OUT_OF_MEMORY) return Step::missing;
      set_short();
      return Step::short_of_memory;
    }
    const ChunkState state = flight.chunk().state;
    if (state == ChunkState::coming_fresh) return Step::begun;
    if (flight.take_lane() && submit_in(flight, slot, state)) {
      flight.stage = Stage::copying;
      return Step::begun;
    }
    finish_in(flight, false);
    return Step::missing;
  }

  bool submit_in(const Flight& flight, int slot, ChunkState state) const {
    if (state == ChunkState::coming_zeroed) {
      return flight.lane.set_to_zero(slot, flight.address, flight.move.bytes);
    }
    const std::uint64_t host = host_address(flight.place);
    return flight.lane.copy(Direction::in, slot, flight.address, host, flight.move.bytes);
  }

  // Whoever brings memory in is allowed one chunk after the other, as others make room for it. The
  // next one is made while the last one is copied.
  void finish_or_wait(std::uint32_t seen, Step step) {
    const Flight& oldest = flights_[oldest_];
    const bool may_get_more = direction_ == Direction::in && !is_full();
    if (may_get_more && oldest.stage == Stage::copying && !oldest.lane.is_done(oldest_)) {
      wait_for_change(gpu_, seen, step == Step::nothing ? kGlance_ns : kShort_ns);
    } else {
      finish_oldest();
    }
  }

  void finish_oldest() {
    const int slot = oldest_;
    Flight& flight = flights_[slot];
    const bool done = flight.stage != Stage::copying || flight.lane.wait(slot);
    if constexpr (kChecksMoves) {
      if (done) check_end(flight, slot, direction_);
    }
    oldest_ = slot_of(1);
    --in_flight_;
    if (direction_ == Direction::out) {
      finish_out(flight, done ? flight.stage : Stage::cancelled);
    } else {
      finish_in(flight, done);
    }
  }

  void finish_out(Flight& flight, Stage stage) {
    if (stage != Stage::cancelled) {
      unback(flight.address, flight.move.bytes, flight.handle);
      learn_to_hash(flight);
    }
    flight.give_lane();
    {
      const os::FutexGuard guard(lock);
      if (stage == Stage::copying) {
        rooms[gpu_].copied_out += flight.move.bytes;
        finish(flight,
               {.event = ChunkEvent::out_copied, .place = flight.place, .hash = flight.hash});
      } else if (stage == Stage::cancelled) {
        if (flight.has_new_place) host_room.give(flight.place);
        finish(flight, {.event = ChunkEvent::out_cancelled});
      } else {
        const bool is_zero = stage == Stage::zero;
        finish(flight, {.event = is_zero ? ChunkEvent::out_zero : ChunkEvent::out_same});
      }
    }
    session::tell_holds(gpu_);
  }

  // The card may have been too full for that, and has room now that nobody else knows of. Where it
  // is not for want of room, one try for each exchange costs little.
  void learn_to_hash(const Flight& flight) {
    if (has_learnt_ || !flight.has_lane || flight.lane.can_hash()) return;
    has_learnt_ = true;
    flight.lane.learn_to_hash();
  }

  void finish_in(Flight& flight, bool done) {
    flight.give_lane();
    if (!done && flight.handle != 0) unback(flight.address, flight.move.bytes, flight.handle);
    {
      const os::FutexGuard guard(lock);
      const bool is_copied = done && flight.chunk().state == ChunkState::coming_copied;
      if (is_copied) rooms[gpu_].copied_in += flight.move.bytes;
      const ChunkEvent event = done ? ChunkEvent::in_done : ChunkEvent::in_cancelled;
      finish(flight, {.event = event, .handle = done ? flight.handle : 0});
      if (done) rooms[gpu_].is_short = false;
    }
    session::tell_holds(gpu_);
  }

  void set_short() {
    {
      const os::FutexGuard guard(lock);
      rooms[gpu_].is_short = true;
    }
    session::tell_holds(gpu_);
  }

  static std::uint64_t host_address(const vmm::HostPlace& place) {
    const os::FutexGuard guard(lock);
    return host_room.address_of(place);
  }

  // With the lock held, both.
  static vmm::Outcome note(const Flight& flight, const vmm::Happening& what) {
    return regions.apply(flight.move.region, flight.move.chunk, what);
  }
  // The end of a move, and of the chunk, if it was freed meanwhile.
  void finish(const Flight& flight, const vmm::Happening& what) {
    vmm::Region* region = flight.move.region;
    const vmm::Outcome outcome = note(flight, what);
    if (outcome.handle != 0) unback(flight.address, flight.move.bytes, outcome.handle);
    if (outcome.place.is_some()) host_room.give(outcome.place);
    const bool is_end = region->is_ending() && region->is_over();
    if (is_end) {
      give_addresses(region->base(), region->split().bytes);
      regions.remove(region);
    }
    // We wait for a change as well: if nothing has come of it, there is none.
    const bool is_cancelled =
        what.event == ChunkEvent::out_cancelled || what.event == ChunkEvent::in_cancelled;
    if (!is_cancelled || is_end || outcome.handle != 0) changed(gpu_);
    host_may_be_spare();
  }

  int gpu_ = 0;
  Flight flights_[kSlots] = {};
  int oldest_ = 0;
  int in_flight_ = 0;
  int unhashed_ = 0;  // the youngest of them
  Lane::Stretch stretches_[kSlots] = {};
  bool is_missing_ = false;
  bool has_learnt_ = false;  // to hash, or has tried to, in this run
  std::int64_t stays_until_ns_ = 0;
  bool is_in_the_way_ = false;  // something keeps what has to go from leaving
  Direction direction_ = Direction::out;
};

// Too large for the stack of a thread of ours.
constinit Mover movers[gate::kGpusMax] = {};

void work(void* argument) {
  const auto gpu = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  const RelaxedCapture relaxed;
  Mover& mover = movers[gpu];
  mover = Mover(gpu);
  prepare_lanes(gpu);
  for (;;) {
    const std::uint32_t seen = rooms[gpu].changes.load(std::memory_order_acquire);
    wait_for_change(gpu, seen, mover.run());
  }
}

}  // namespace

bool start_mover(int gpu) {
  if (started[gpu].exchange(true)) return true;
  const bool is_there =
      start_thread(&work, reinterpret_cast<void*>(static_cast<std::intptr_t>(gpu)));
  if (!is_there) started[gpu].store(false);
  return is_there;
}

void forget_movers_in_child() {
  for (auto& flag : started) flag.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
