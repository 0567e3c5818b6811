// SPDX-License-Identifier: Apache-2.0
// What the daemon can tell a client to do with its windows. All of these run on the thread that
// listens.
#pragma once

#include <cstdint>

#include "interposer/flow/flow.h"
#include "wire/messages.h"

namespace nvs::interposer::session {

void open_window(const wire::Open& message);
void close_window(const wire::Close& message);
void let_in(const wire::LetIn& message);
void get_ready(const wire::GetReady& message);
void gpu_known(const wire::GpuKnown& message);
void set_paused(const wire::Pause& message);

// We are idle, and somebody waits.
void give_up_window(int gpu);
// So are we, and will be for long, unless the next request is waiting already: the daemon is told
// at once, and the gate closes a moment later. What comes in meanwhile is on the GPU before
// anything of the next one's, because the word takes longer. False: the window is not open any
// more.
bool let_go_window(int gpu, const flow::Look& look);
// Waits for that moment, and closes.
void close_let_go(int gpu, std::int64_t after_ns);

// The daemon is told that all is done; `look`: at the queue when it was, if there was one. With the
// lock held.
void tell_drained(int gpu, const flow::Look& look = {});
// With the lock held, and the gate closed.
void begin_drain(int gpu, std::int64_t expected_ns = 0);

// A drain ends in a moment, and whoever is next works briefly: the daemon is told that it is over.
// Until it is, the GPU counts as draining here, so that no memory moves. With the lock held.
void hand_over_window(int gpu);
// Whether that was told and is not so yet. With the lock held.
bool is_handed_over(int gpu);

// A closed gate lets somebody in, and is drained again when that has happened or did not happen in
// time. With the lock held.
bool is_before_drain(int gpu, std::int64_t now_ns);

// The drain does not end: the window is opened again, and the daemon told. With the lock held.
void refuse_to_close(int gpu);

// Says again what the daemon could not be told, unless another window has made it moot. False: the
// daemon still does not take it. With the lock held.
bool tell_untold(int gpu);

}  // namespace nvs::interposer::session
