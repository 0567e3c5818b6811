// SPDX-License-Identifier: Apache-2.0
// Waits until everything that the process has submitted to a GPU is done, on a thread of its own
// for each GPU: the driver's call for it has no time limit, and somebody must be able to give up.
#pragma once

#include <cstdint>

namespace nvs::interposer::drain {

// Makes the GPU's thread, once. False: there is no thread to be had.
bool prepare(int gpu);

// The gate was closed: waits until nobody is inside and no work is left, those let in meanwhile
// included, and then calls completed(). Returns the number of the job.
std::uint32_t begin(int gpu);
void cancel(int gpu);

// No capture goes on any more: what could not be waited for beside one can be now.
void captures_ended();

// Whether every context was waited for, or under a capture what the marks tell of.
enum class Certainty : std::uint8_t { all, marks };

// Defined by the session; called on the GPU's thread. False: more was let in than `let_in`, or may
// be, and must be waited for.
bool completed(int gpu, std::uint32_t job, std::uint32_t let_in,
               Certainty certainty = Certainty::all);

// Likewise. Whether it is closed by that job, and by marks alone; and that all of it was waited
// for since, in a moment without a capture.
bool is_unsettled(int gpu, std::uint32_t job);
void settled(int gpu, std::uint32_t job);

// Likewise: there is work that cannot be waited for.
void impossible(int gpu, std::uint32_t job);

void start_over_in_child();

}  // namespace nvs::interposer::drain
