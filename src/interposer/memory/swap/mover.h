// SPDX-License-Identifier: Apache-2.0
// Moves chunks out and in, on a thread of its own for each GPU, until the process has what it is
// allowed to have. It can be stopped by a new word of the daemon between any two chunks, and every
// step leaves the tables as they are.
#pragma once

namespace nvs::interposer::swap {

// Makes the GPU's thread, once. False: there is no thread to be had.
bool start_mover(int gpu);

void forget_movers_in_child();

}  // namespace nvs::interposer::swap
