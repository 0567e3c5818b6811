// SPDX-License-Identifier: Apache-2.0
// A GPU on which the process has lost its contexts while it lives: an illegal address costs it all
// that it has there (ADR-0028). Our own calls notice it, and whoever may take the session's lock
// acts on it.
#pragma once

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::faults {

// What a call of ours said about a context of that GPU. For any thread, whatever lock it holds.
void note(int gpu, CUresult result);
bool is_noted(int gpu);

void start_over_in_child();

}  // namespace nvs::interposer::faults

namespace nvs::interposer::session {

// If a fault was noted: the window is given up and the gate opened for good, since nothing that
// comes through it runs. What the process has there stays where it is. Without any lock held.
void act_on_fault(int gpu);

// A context has ended. Where that was the last one on a GPU with a fault, a new one, if the driver
// gives any, is without it.
void context_ended();

}  // namespace nvs::interposer::session
