// SPDX-License-Identifier: Apache-2.0
// This process as a client of the daemon: it says which GPUs it uses and when it wants to run,
// opens and closes the gate as it is told, and carries on alone if the daemon goes away. A thread
// of ours listens to the daemon; the program's threads only ever leave a note or send a packet.
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

// A thread stands at the closed gate. Cheap if that was said already.
void want(int gpu);

// The daemon has said something that was not heard yet: the listener may still have to wake up.
bool is_word_due();

// The GPU that the program uses, if it is one; -1 if there are several or none.
int only_gpu();

void start_over_in_child();

}  // namespace nvs::interposer::session
