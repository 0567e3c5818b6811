// SPDX-License-Identifier: Apache-2.0
// What the session knows of each GPU, shared between the thread that listens to the daemon, those
// that drain, and the program's own.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/gate/gate.h"
#include "interposer/session/queued_before.h"
#include "interposer/session/work_account.h"
#include "os/futex_lock.h"
#include "wire/messages.h"

namespace nvs::interposer::session {

enum class Phase : std::uint8_t {
  unused,    // the program has no context there
  free,      // nobody manages it: the gate stays open
  closed,    // drained, and the gate is closed
  open,      // our window, or there is no daemon
  draining,  // the gate is closed, work may still run
  faulted,   // all contexts are lost: the gate is open, and nothing that passes it runs
};

// A drain that is under way.
struct DrainState {
  std::uint32_t job;
  std::int64_t waits_until_ns;  // for somebody to be let in, before it begins; 0: it has begun
  std::int64_t progress_ns;     // when it last got on
  std::int64_t looked_ns;       // when that was last looked at
  std::int64_t told_ns;         // when the daemon last heard of it
  std::int64_t expected_ns;     // GPU time that was queued when it last got on
  std::uint32_t completions;    // marks that were seen to complete by then
  std::uint32_t let_in;
  QueuedBefore before;
  int stalls;        // how often Stalled was sent since it last got on
  bool lets_in;      // single ones are let in: what runs may wait for those at the gate
  bool returns;      // the next one's work is brief, and then it is our turn again
  bool handed_over;  // the daemon takes it for drained, which it is in a moment
  bool makes_way;    // it was not asked for: memory of another GPU has to go (make_way.h)
};

// The end of a drain as the daemon waits for it.
enum class Answer : std::uint8_t { none, drained, refused };

struct Gpu {
  Phase phase;
  std::uint64_t grant;  // of the window that is open or was last; 0: it was not this daemon's
  Answer untold;        // the socket was full
  std::uint64_t untold_grant;
  std::int64_t untold_quiet_ns;  // what was to be told of it
  std::int64_t untold_since_ns;
  bool awaited;
  bool bounded;
  std::int64_t
      bounded_alone_ns;  // since when that is the word of a daemon that is gone; 0: it is not
  bool capped;           // our time is counted: pauses are told though nobody waits
  bool marked;           // nothing was submitted without a bound since the queue was seen empty
  // It was closed during a capture: what nobody could wait for then may still run.
  bool unsettled;
  std::int64_t opened_ns;
  int missed;                   // windows in a row that ended before our thread got to run
  std::int64_t keeps_until_ns;  // what came in as a window was let go took long: not again so soon
  std::int64_t ready_ns;        // when the window will probably open; 0: unknown
  std::int64_t awake_until_ns;  // what the threads at the gate were told last
  DrainState drain;
  std::int64_t makes_way_since_ns;  // others have been in our memory's way; 0: they are not
  std::int64_t way_looked_ns;       // when they last were
  std::int64_t keeps_way_until_ns;  // it could not be made to stand still: not again so soon
  std::uint64_t memory_told;
  bool unserved;     // our daemon does not know it: its gate opens for good
  bool opens_alone;  // nobody opens the gate but we, when all memory has come
  WorkAccount account;
  // The daemon takes us for idle, and without a bound nobody looks when that ends.
  bool owes_busy;
  std::uint8_t uuid[16];
};

// One lock for all GPUs, held for moments only. No call of the driver is made under it.
extern os::FutexLock lock;
extern Gpu gpus[gate::kGpusMax];
// Said by want(), taken back when the window opens.
extern std::atomic<bool> wanted[gate::kGpusMax];
extern std::uint32_t
    held;            // GPUs of a Hold: it opens their gates when it ends; guarded by the lock
extern bool paused;  // the daemon told us that our tenant is; guarded by the lock

// All with the lock held.
void tell_want(int gpu);
void want_owners(int gpu);  // of memory that is away and that it can reach, on other GPUs
void note_closed(int gpu);  // and drained
void open_gate(int gpu);
void begin_bill(int gpu, bool billed);  // a window: whether the daemon bills us from now on
void end_bill(int gpu);
bool tell_work(int gpu, const WorkAccount::Word& word);  // false: the socket is full
bool tell_busy(int gpu);                                 // if we owe that; likewise
void open_alone(int gpu);                                // there is no daemon for it any more
void set_gate_bounded();                                 // if any GPU's queue is
void lift_bound(int gpu);
bool announce(int gpu);  // that we use it; false: the daemon could not be told
void say_hello();

wire::Hello hello_message();  // what this process says of itself

// A message about the latest window.
template <class Message>
Message about(int gpu) {
  Message message;
  message.ordinal = static_cast<wire::u32>(gpu);
  message.grant = gpus[gpu].grant;
  return message;
}

}  // namespace nvs::interposer::session
