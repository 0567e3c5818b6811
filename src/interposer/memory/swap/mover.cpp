// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/mover.h"

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/host.h"
#include "interposer/memory/swap/lane.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/vmm/plan.h"
#include "interposer/session/memory.h"
#include "interposer/session/thread.h"

namespace nvs::interposer::swap {
namespace {

using vmm::Chunk;
using vmm::ChunkEvent;
using vmm::ChunkState;
using vmm::HostPlace;

constexpr std::int64_t kIdle_ns = 1'000'000'000;
// Something is missing: pages of others that are on their way out, host memory, a context.
constexpr std::int64_t kMissing_ns = 2'000'000;
constexpr std::int64_t kBroken_ns = 1'000'000'000;

constinit std::atomic<bool> started[gate::kGpusMax] = {};

// A chunk on its way.
struct Flight {
  vmm::Move move;
  std::uint64_t address;
  std::uint64_t handle;
  HostPlace place;
  bool has_new_place;  // taken for this flight
  bool is_submitted;   // there is something to wait for
  Lane lane;
};

enum class Step : std::uint8_t { nothing, begun, missing, broken };

class Mover {
 public:
  explicit Mover(int gpu) : gpu_(gpu) {}

  // Everything there is to move now, as long as it can be. How long to wait for a change then.
  std::int64_t run() {
    Step step = Step::nothing;
    do {
      step = begin_next();
      const bool is_full = in_flight_ == kInFlight;
      if (in_flight_ > 0 && (is_full || step != Step::begun)) finish_oldest();
    } while (step == Step::begun || in_flight_ > 0);
    if (step == Step::missing) return kMissing_ns;
    return step == Step::broken ? kBroken_ns : kIdle_ns;
  }

 private:
  int slot_of(int age) const { return (oldest_ + age) % kInFlight; }
  Flight& next_flight() { return flights_[slot_of(in_flight_)]; }

  // Those in flight end before the direction changes.
  bool may_begin(Direction direction) const { return in_flight_ == 0 || direction_ == direction; }

  Step begin_next() {
    if (in_flight_ == kInFlight) return Step::begun;
    Flight& flight = next_flight();
    flight = {};
    Direction direction = Direction::out;
    const Step planned = plan(flight, direction);
    if (planned != Step::begun) return planned;
    direction_ = direction;
    const Step begun = direction == Direction::out ? begin_out(flight) : begin_in(flight);
    if (begun == Step::begun) ++in_flight_;
    return begun;
  }

  // Chooses the next chunk and marks it as being under way. Nothing leaves unless the gate is
  // closed and drained, which the session's lock keeps so until the chunk is marked.
  Step plan(Flight& flight, Direction& direction) {
    const session::ClosedGate closed(gpu_);
    const os::FutexGuard guard(lock);
    const Room& room = rooms[gpu_];
    const std::uint64_t allowed = room.number != 0 ? room.allowed : kNoLimit;
    const vmm::Need need = vmm::need_of(regions.sums(gpu_), room.backing, allowed);
    if (need.out > 0 && closed.is_so()) {
      direction = Direction::out;
      return may_begin(direction) ? plan_out(flight, need.out) : Step::nothing;
    }
    if (need.in == 0) return Step::nothing;
    direction = Direction::in;
    return may_begin(direction) ? plan_in(flight, need.in) : Step::nothing;
  }

  Step plan_out(Flight& flight, std::uint64_t bytes) {
    if (vmm::plan_out(regions, gpu_, bytes, &flight.move, 1).moves == 0) return Step::nothing;
    const Chunk& chunk = flight.move.region->chunk(flight.move.chunk);
    flight.place = chunk.place;
    if (!chunk.clean && !flight.place.is_some()) {
      vmm::Took took = vmm::Took::done;
      flight.place = host_room.take(flight.move.bytes, took);
      if (!flight.place.is_some()) {
        host_is_missing(flight.move.bytes);
        return Step::missing;
      }
      flight.has_new_place = true;
    }
    note(flight, {.event = ChunkEvent::began_out});
    flight.handle = chunk.handle;
    return Step::begun;
  }

  Step plan_in(Flight& flight, std::uint64_t bytes) {
    if (vmm::plan_in(regions, gpu_, bytes, &flight.move, 1).moves == 0) return Step::nothing;
    note(flight, {.event = ChunkEvent::began_in});
    flight.place = flight.move.region->chunk(flight.move.chunk).place;
    return Step::begun;
  }

  const Chunk& chunk_of(const Flight& flight) const {
    return flight.move.region->chunk(flight.move.chunk);
  }
  bool take_lane(Flight& flight) const {
    const std::uint64_t context = flight.move.region->facts().context;
    return flight.lane.take(reinterpret_cast<CUcontext>(context), gpu_);
  }

  Step begin_out(Flight& flight) {
    flight.address = address_of(flight);
    if (chunk_of(flight).clean) return Step::begun;
    const int slot = slot_of(in_flight_);
    const std::uint64_t host = host_address(flight.place);
    if (take_lane(flight)) {
      flight.is_submitted =
          flight.lane.copy(Direction::out, slot, flight.address, host, flight.move.bytes);
      if (flight.is_submitted) return Step::begun;
      flight.lane.give_back();
    }
    cancel_out(flight);
    return Step::broken;
  }

  void cancel_out(Flight& flight) {
    const os::FutexGuard guard(lock);
    if (flight.has_new_place) host_room.give(flight.place);
    finish(flight, {.event = ChunkEvent::out_cancelled});
  }

  Step begin_in(Flight& flight) {
    flight.address = address_of(flight);
    const CUresult backed = back(gpu_, flight.address, flight.move.bytes, flight.handle);
    if (backed != CUDA_SUCCESS) {
      cancel_in(flight, backed == CUDA_ERROR_OUT_OF_MEMORY);
      return backed == CUDA_ERROR_OUT_OF_MEMORY ? Step::missing : Step::broken;
    }
    const ChunkState state = chunk_of(flight).state;
    if (state == ChunkState::coming_fresh) return Step::begun;
    if (take_lane(flight)) {
      flight.is_submitted = submit_in(flight, state);
      if (flight.is_submitted) return Step::begun;
      flight.lane.give_back();
    }
    unback(flight.address, flight.move.bytes, flight.handle);
    cancel_in(flight, false);
    return Step::broken;
  }

  bool submit_in(const Flight& flight, ChunkState state) const {
    const int slot = slot_of(in_flight_);
    if (state == ChunkState::coming_zeroed) {
      return flight.lane.set_to_zero(slot, flight.address, flight.move.bytes);
    }
    const std::uint64_t host = host_address(flight.place);
    return flight.lane.copy(Direction::in, slot, flight.address, host, flight.move.bytes);
  }

  void cancel_in(Flight& flight, bool is_short) {
    {
      const os::FutexGuard guard(lock);
      rooms[gpu_].is_short = rooms[gpu_].is_short || is_short;
      finish(flight, {.event = ChunkEvent::in_cancelled});
    }
    session::tell_holds(gpu_);
  }

  void finish_oldest() {
    Flight& flight = flights_[oldest_];
    const bool done = !flight.is_submitted || flight.lane.wait(oldest_);
    if (flight.is_submitted) flight.lane.give_back();
    oldest_ = slot_of(1);
    --in_flight_;
    if (direction_ == Direction::out) {
      finish_out(flight, done);
    } else {
      finish_in(flight, done);
    }
    session::tell_holds(gpu_);
  }

  void finish_out(Flight& flight, bool done) {
    if (!done) return cancel_out(flight);
    unback(flight.address, flight.move.bytes, flight.handle);
    const os::FutexGuard guard(lock);
    if (flight.is_submitted) {
      finish(flight, {.event = ChunkEvent::out_copied, .place = flight.place});
    } else {
      finish(flight, {.event = ChunkEvent::out_same});
    }
  }

  void finish_in(Flight& flight, bool done) {
    if (!done) {
      unback(flight.address, flight.move.bytes, flight.handle);
      return cancel_in(flight, false);
    }
    {
      const os::FutexGuard guard(lock);
      rooms[gpu_].is_short = false;
      finish(flight, {.event = ChunkEvent::in_done, .handle = flight.handle});
      if (regions.sums(gpu_).away() != 0) return;
    }
    session::memory_is_complete(gpu_);
  }

  static std::uint64_t address_of(const Flight& flight) {
    return flight.move.region->base() + flight.move.region->split().offset_of(flight.move.chunk);
  }
  static std::uint64_t host_address(const HostPlace& place) {
    const os::FutexGuard guard(lock);
    return host_room.address_of(place);
  }

  // With the lock held.
  static vmm::Outcome note(const Flight& flight, const vmm::Happening& what) {
    return regions.apply(flight.move.region, flight.move.chunk, what);
  }
  // The end of a move, and of the chunk, if it was freed meanwhile.
  void finish(const Flight& flight, const vmm::Happening& what) {
    vmm::Region* region = flight.move.region;
    const vmm::Outcome outcome = note(flight, what);
    if (outcome.handle != 0) unback(flight.address, flight.move.bytes, outcome.handle);
    if (outcome.place.is_some()) host_room.give(outcome.place);
    if (region->is_ending() && region->is_over()) {
      give_addresses(region->base(), region->split().bytes);
      regions.remove(region);
    }
    changed(gpu_);
  }

  int gpu_;
  Flight flights_[kInFlight] = {};
  int oldest_ = 0;
  int in_flight_ = 0;
  Direction direction_ = Direction::out;
};

void work(void* argument) {
  const auto gpu = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  const RelaxedCapture relaxed;
  Mover mover(gpu);
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

bool is_complete(int gpu) {
  const os::FutexGuard guard(lock);
  const vmm::Sums sums = regions.sums(gpu);
  return sums.away() == 0 && sums.leaving == 0 && sums.coming == 0;
}

bool begin_window(int gpu) {
  const os::FutexGuard guard(lock);
  const vmm::Sums sums = regions.sums(gpu);
  if (sums.away() != 0 || sums.coming != 0) return false;
  return regions.written(gpu);
}

void forget_movers_in_child() {
  for (auto& flag : started) flag.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
