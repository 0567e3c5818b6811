// SPDX-License-Identifier: Apache-2.0
// What a process has queued on one engine of a GPU, which works it off in order: the guess of how
// long that takes, and the marks that it is fed with. The driver is asked about events; the clock
// is the caller's, and so is the lock.
#pragma once

#include <cstdint>

#include "interposer/flow/first_come.h"
#include "interposer/flow/mark_event.h"
#include "interposer/flow/queue.h"
#include "interposer/flow/source.h"

namespace nvs::interposer::flow {

struct Lane {
  Queue queue;
  // Every submission since the GPU was last seen empty has a mark behind it, or will have one.
  bool complete;
  int being_made;          // submissions that are counted, and may not be in the driver yet
  std::uint32_t made;      // those that were made, ever
  Source behind;           // the stream of the submissions that have no mark yet
  bool mixed;              // they are of several, or of one that is gone
  Event marks[kMarksMax];  // in the order of the queue's
  int first;
  Event spare[kMarksMax];
  int spares;
  std::uint32_t ended;       // marks that were seen complete, in whatever order
  std::uint32_t ended_then;  // when somebody last waited for room in vain
  int vain;                  // how many did since
  FirstCome first_come;

  // If no mark is left, nothing runs.
  bool knows_all() const { return complete && queue.unmarked() == 0; }
  std::int64_t last_activity_ns() const;

  // Looks at the oldest marks until one is not complete.
  void reap(int gpu, std::int64_t now_ns);

  struct Asking {
    std::int64_t bound_ns;
    std::uint64_t kind;
    std::int64_t asked_ns;
  };
  // Until there is room, for this one before who asked later; 0: now. Where the queue does not get
  // on, nobody waits for others that do.
  std::int64_t wait_ns(std::int64_t now_ns, const Asking& one);
  // What is queued may wait for what comes.
  bool is_held_up(std::uint64_t kind);
  void waited_in_vain(std::int64_t now_ns, std::int64_t since_ns);

  // A submission is about to be made, and was.
  void submit(std::int64_t now_ns, const Source& source, std::uint64_t kind);
  void note_made(std::int64_t now_ns);

  // An event for a mark of that context; without one, a new one is to be made.
  Event take_event(CUcontext context);
  // It was recorded behind what had been made by then.
  void marked(std::int64_t now_ns, const Event& event, const Source& source,
              std::uint32_t made_before);
  void keep(const Event& event);

  void emptied(std::int64_t now_ns);
  void stream_ends(CUstream stream);
  void context_ends(CUcontext context);
  void start_over();

 private:
  Event& mark_at(int index) { return marks[(first + index) % kMarksMax]; }
  void drop_complete(int gpu);
};

}  // namespace nvs::interposer::flow
