// SPDX-License-Identifier: Apache-2.0
// Bounds what a process queues on a GPU while others wait for it, by time and not by count. Marks
// are events of ours that are recorded behind submissions; they cost the GPU nothing. No context is
// ever synchronised for it, and without a bound nothing here runs.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::flow {

// Copies between host and GPU go on beside kernels, where they are on streams of their own: then
// they have a queue of their own too.
enum class Engine : std::uint8_t { any, copies };
inline constexpr int kEngines = 2;
// The bit of a kind that is such a copy.
inline constexpr std::uint64_t kBesideKernels = std::uint64_t{1} << 63U;

// 0: no bound, and submissions are not counted.
void set_bound(int gpu, std::int64_t bound_ns);

// What the gate has to do with the program's pauses: a thread was the first to find it closed, and
// it has opened.
void gate_met_closed(int gpu);
void window_opened(int gpu, bool took_over);

// Before a submission: may it be made? If so it is counted, where there is a bound.
struct Room {
  std::int64_t wait_ns;         // 0: now. Else ask again after so long,
  std::int64_t sleep_ns;        // and sleep for so much of that at most.
  bool counted;                 // mark() must follow the submission
  std::int64_t asked_ns = 0;    // when this call first asked, to be said when it does again
  Engine engine = Engine::any;  // whose queue it is; what follows the submission is of that one
};
Room ask(int gpu, CUstream stream, std::uint64_t kind, std::int64_t asked_ns = 0);
// It will not, though it was told to wait.
void asks_no_more(int gpu, std::int64_t asked_ns);
// Whoever asked has lost patience, and nothing has ended since: what runs may wait for what is kept
// waiting. Until something ends, what is known is not asked to wait any more, nor is anything once
// several have waited in vain; as long as less than that is queued behind it.
void waited_in_vain(int gpu, std::int64_t since_ns, Engine engine = Engine::any);
inline constexpr int kVainMax = 10;
inline constexpr std::int64_t kQueuedInVain_ns = 500'000'000;
// Counts a submission without asking. False: there is no bound.
bool count(int gpu, CUstream stream, std::uint64_t kind, Engine engine = Engine::any);
// A submission that was counted is not made after all, or not now.
void take_back(int gpu, Engine engine = Engine::any);
// A submission that cannot be counted: marks will not tell when it is done. It takes no lock, and
// is said by a thread that is inside the gate.
void lose_track(int gpu);
bool is_bounded(int gpu);
// After the submission, on the thread that made it: records a mark if it is time for one.
void mark(int gpu, CUstream stream, Engine engine = Engine::any);
// The same where no mark may be recorded.
void made(int gpu, Engine engine = Engine::any);

// What the marks say. False: another thread is at it, or there is no bound.
struct Look {
  // Every mark is complete, no thread is inside with a submission, and nothing unmarked is likely
  // to run.
  bool done;
  std::int64_t quiet_ns;      // since the last submission or completion, whichever came later
  std::int64_t remaining_ns;  // GPU time that is queued
  std::int64_t ends_in_ns;    // if that is known well, and certain; else 0
  std::int64_t look_again_ns;
  bool certain;               // the marks cover everything: if done, no work is left
  std::uint32_t completions;  // how many marks were seen to complete, ever
  std::uint64_t oldest;       // the first mark not seen complete; where there is none, the next
  std::uint64_t next;         // marks are numbered from 1 on
  bool sleeps_long;           // its pauses were mostly long lately
  bool mostly_sleeps;         // by far the most of them were
  std::int64_t waits_ns;      // for its windows lately, on average
  std::int64_t paused_ns;     // as paused_ns() says
  std::int64_t busy_ns;       // since the first submission after a pause
};
bool look(int gpu, Look& result);

// A program without work for so long has paused: what is shorter is part of its work.
inline constexpr std::int64_t kPause_ns = 200'000;
// All its pauses in windows that have ended, added up, with what went by until each was taken up
// and the GPU had turned to us.
std::int64_t paused_ns(int gpu);

// Everything that was submitted is done: a synchronisation has shown it, unless a window opened or
// track was lost since it began.
struct Moment {
  std::uint32_t losses;
  std::int64_t opened_ns;
};
Moment now(int gpu);
void emptied(int gpu, const Moment& since);

// A stream is about to end.
void stream_ends(CUstream stream);
// A context is: its marks are destroyed.
void context_ends(CUcontext context);

void start_over_in_child();

}  // namespace nvs::interposer::flow
