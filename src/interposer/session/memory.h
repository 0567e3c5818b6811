// SPDX-License-Identifier: Apache-2.0
// What the daemon and the process tell each other about memory: how much the process has, and how
// much it may have.
#pragma once

#include <cstdint>

#include "wire/messages.h"

namespace nvs::interposer::session {

// Whether a daemon managed the GPU when the process first used it: then its memory is of the kind
// that can be moved. Waits for the daemon's word the first time, for a moment.
bool has_daemon(int gpu);
// Whether that can be so of any GPU.
bool has_any_daemon();
// The same, and it is not known yet that it is so of none.
bool may_be_movable();

// Tells the daemon what the process has, if that is news. For any thread; the session's lock may be
// held, no other.
void tell_holds(int gpu);
void tell_all_holds();

// A window may begin: all memory that the GPU reaches is there, and counts as written from now on.
bool begin_window(int gpu);

// All memory has come. For whoever brings it.
void memory_is_complete(int gpu);

// Opens the gates that wait for memory because no daemon opens them, if it is there. It need
// not have come: what was about to leave may stay, and what is away be freed.
void open_complete();  // with the session's lock held
void memory_rests();   // without: nothing is left to move on some GPU

// A GPU, as the one whose memory is meant.
enum class Owner : int {};

// While one lives, gates stay as they are.
class ClosedGates {
 public:
  explicit ClosedGates(std::uint32_t gpus);  // one bit each
  explicit ClosedGates(Owner owner);         // of this GPU, and of all that may use its memory
  ~ClosedGates();
  ClosedGates(const ClosedGates&) = delete;
  ClosedGates& operator=(const ClosedGates&) = delete;
  // All of these are closed, and all that was submitted there is done.
  bool is_so() const { return is_so_; }

 private:
  bool is_so_;
};

// On the thread that listens.
void set_allowance(const wire::Allow& message);
void set_visible(const wire::Visible& message);
// Once a second.
void memory_lacks(int gpu);
// Which number the GPU has in the tenant's account; before its memory is known.
void memory_numbered(const wire::GpuKnown& message);
// The daemon will serve the GPU's windows, and its memory; or not.
void memory_known(int gpu, bool known);

// With the session's lock held.
void memory_announces(int gpu);  // UseGpu will be sent,
void memory_announced(int gpu);  // and was
void memory_alone(int gpu);      // there is no daemon: no limit

void memory_start_over_in_child();

}  // namespace nvs::interposer::session
