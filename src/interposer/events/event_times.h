// SPDX-License-Identifier: Apache-2.0
// When events were recorded, by the clock of what the program has waited for its turn: the time
// between two events is what the GPU says, less what the clock went on between the two records.
// The host's view of a record is enough, because the clock runs only while the GPU has none of the
// program's work: what was recorded before is then done, and what is recorded meanwhile is done at
// once (ADR 10).
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/events/wait_clock.h"
#include "interposer/gate/gate.h"
#include "interposer/memory/slot_table.h"
#include "os/futex_lock.h"

namespace nvs::interposer::events {

class EventTimes {
 public:
  using Now = std::int64_t (*)();
  explicit constexpr EventTimes(Now now, memory::MapPages map = &os::map_pages)
      : now_(now), map_(map) {}

  // The program waits, or does no more. The first wait on a GPU is that for the daemon's first
  // word: no event is older, so it is forgotten unless one was recorded while it went on.
  void begin_first_wait(int gpu);
  void begin_wait(int gpu);
  void end_wait(int gpu);

  // False: every clock stands at zero, and records need not be told.
  bool has_waited() const { return has_waited_.load(std::memory_order_acquire); }
  // What the clock of a GPU shows.
  std::int64_t waited_ns(int gpu) const;

  // The event was recorded on this GPU, by a call before which the clock showed `before_ns`.
  void recorded(CUevent event, int gpu, std::int64_t before_ns);
  // It was recorded, and nobody knows where.
  void recorded_somewhere(CUevent event);
  // A graph records it, now and again, and nobody is told: its times are left alone.
  void given_to_graph(CUevent event);
  // Its handle may come back as another event.
  void destroyed(CUevent event);

  // What the GPU says lay between two events, without the waiting.
  float without_waits(float milliseconds, CUevent start, CUevent end);

  void start_over_in_child();

 private:
  enum class Sight : std::uint8_t {
    seen,
    unseen,    // this time; the next record may be seen again
    of_graph,  // never
  };
  // The call took a while, and the clock may have gone on: the event lies between the two. Of two
  // events only what is certain to have been waited between them is taken off.
  struct Record {
    std::uint64_t event;
    std::int64_t before_ns;
    std::int64_t after_ns;
    Sight sight;

    bool used() const { return event != 0; }
    std::uint64_t hash() const { return memory::spread(event); }
    bool same_key(const Record& other) const { return event == other.event; }
  };

  static Record record_of(CUevent event, Sight sight) {
    return {reinterpret_cast<std::uintptr_t>(event), 0, 0, sight};
  }
  // With the lock held.
  void put(const Record& record);
  Record find(CUevent event) const;
  std::int64_t waited_between_ns(CUevent start, CUevent end);

  Now now_;
  memory::MapPages map_;
  os::FutexLock lock_;  // guards what follows; the atomics and the clocks may be read without
  WaitClock clocks_[gate::kGpusMax];
  bool first_wait_[gate::kGpusMax] = {};
  std::atomic<bool> has_waited_{false};
  std::atomic<bool> has_records_{false};  // or had some
  bool lost_record_ = false;              // there was no memory for one
  memory::SlotTable<Record> records_;
};

// Those of this process. In the header, so that a look at them is a load.
extern constinit EventTimes the_times __attribute__((visibility("hidden")));
inline EventTimes& times() { return the_times; }

}  // namespace nvs::interposer::events
