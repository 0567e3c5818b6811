// SPDX-License-Identifier: Apache-2.0
// Which streams are being captured. Synchronising a context breaks every capture in it, from
// whatever thread and in whatever mode (measured on an H200); one that begins while the
// synchronisation is already under way is unharmed.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::captures {

// More captures at a time than this are counted and not told apart; then nothing is synchronised
// until all of them are over.
inline constexpr int kStreamsMax = 64;

// A name for each capture that is in the table. Streams are none: each thread has a default stream
// of its own in each context, and all of them have the same handle.
enum class Number : std::uint64_t { none = 0 };

// Told by the hooks.
void begins();  // before the driver's call; it may wait a moment
// `graph`: that it makes. None if it goes into one of the program's.
void begun(CUstream stream, CUcontext context, CUresult result, CUgraph graph = nullptr);
// Which one it was. On the thread and in the context where it began, if that stream is its own.
Number ended(CUstream stream, CUcontext context = nullptr);
Number destroyed(CUstream stream);  // and with it a capture that went on
void context_ended(CUcontext context);

// Before a synchronisation: false if a capture goes on, and it must not be made. If true, captures
// wait for its end, or until it must be under way.
bool begin_synchronise(int gpu);
void end_synchronise(int gpu);

// Whether a capture goes on or is about to begin.
bool is_any();

// Whether what goes on keeps the process's memory where it is. A capture that lasts does not for
// ever: of two tenants that have half of their memory each, both would wait for the other half.
inline constexpr std::int64_t kKeepMemory_ns = 5'000'000'000;
bool keep_memory(std::int64_t now_ns);

// The capture that makes that graph.
Number maker_of(CUgraph graph);

void start_over_in_child();

}  // namespace nvs::interposer::captures
