// SPDX-License-Identifier: Apache-2.0
// Which streams are being captured. Synchronising a context breaks every capture in it, from
// whatever thread and in whatever mode (measured on an H200); one that begins while the
// synchronisation is already under way is unharmed.
#pragma once

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::captures {

// More captures at a time than this are counted and not told apart; then nothing is synchronised
// until all of them are over.
inline constexpr int kStreamsMax = 64;

// Told by the hooks.
void begins();  // before the driver's call; it may wait a moment
enum class Into : unsigned char { new_graph, given_graph };
void begun(CUstream stream, CUcontext context, CUresult result, Into into = Into::new_graph);
void ended(CUstream stream);
void destroyed(CUstream stream);  // and with it a capture that went on
void context_ended(CUcontext context);

// Before a synchronisation: false if a capture goes on, and it must not be made. If true, captures
// wait for its end, or until it must be under way.
bool begin_synchronise(int gpu);
void end_synchronise(int gpu);

// Whether a capture goes on or is about to begin.
bool is_any();

// The streams whose captures make graphs of their own: how many.
int list_makers(CUstream (&streams)[kStreamsMax]);

void start_over_in_child();

}  // namespace nvs::interposer::captures
