// SPDX-License-Identifier: Apache-2.0
// This process as a client of the daemon: it says which GPUs it uses and when it wants to run,
// opens and closes the gate as it is told, and carries on alone if the daemon goes away. A thread
// of ours listens to the daemon; the program's threads leave a note or send a packet, and obey
// the answer themselves if it comes at once.
#pragma once

#include <cstdint>

#include "interposer/resolve/settings.h"

namespace nvs::interposer::session {

// Called once, when the driver is first met.
void configure(const Settings& settings);

// The program uses this GPU: it has made a context there, or a call for it stands at the gate. The
// first time, the gate is closed until the daemon opens it, if there is a daemon.
void gpu_used(int gpu);

// The program asks what the GPU is like, and may use it later: if there is a daemon, it hears of us
// now. Without one, nothing happens.
void gpu_seen(int gpu);

// A thread stands at the closed gate. Cheap if that was said already; true: the daemon was told
// just now.
bool want(int gpu);
// Obeys the daemon's word that a window is open, if that is what comes next, before the thread that
// listens is awake; that one then hears it again. False: it is not, or another thread is just
// hearing something. Any other word may need the driver.
bool hear_open_early();

// The GPU that the program uses, if it is one; -1 if there are several or none.
int only_gpu();

void start_over_in_child();

}  // namespace nvs::interposer::session
