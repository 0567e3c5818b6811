// SPDX-License-Identifier: Apache-2.0
// Where threads wait while their process may not submit work to a GPU. Passing an open gate must
// cost next to nothing: a thread marks itself inside with a plain store to a cache line of its own
// and reads one word. Closing it is the slow side: ADR 7 says why that is enough.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_api/cuda_stream.h"
#include "cuda_api/cuda_types.h"

namespace nvs::interposer::gate {

// Devices by their ordinal in this process. One bit each in the gate's word, which is a futex.
inline constexpr int kGpusMax = 30;
inline constexpr std::uint32_t kAllGpus = (1U << kGpusMax) - 1;
// More threads than that share one counter, which is slower and no less correct.
inline constexpr std::uint32_t kSlotsMax = 4096;

// A thread's mark. It belongs to the process and not to the thread, so that whoever closes the gate
// can read it however the thread ends.
struct alignas(64) Slot {
  // The stack pointer of the outermost hook that is inside; 0: outside.
  std::atomic<std::uintptr_t> inside;
  // Its thread id, below a number that is another one each time the slot is given out; 0: free.
  std::atomic<std::uint64_t> owner;
  // While it is inside with a submission that is counted: the GPUs of that, one bit each.
  std::atomic<std::uint32_t> submits_to;
  // And the stream of that, which we use once more when the driver is done with the call.
  std::atomic<CUstream> stream;
};

// Null until the thread's first call.
extern constinit thread_local Slot* thread_slot
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
// 0: open for every GPU, and no need for a fence.
extern std::atomic<std::uint32_t> word __attribute__((visibility("hidden")));
// Set there for good once membarrier is not allowed: no thread then takes the short way, and each
// one makes a fence of its own.
inline constexpr std::uint32_t kFence = 1U << 31;
// Some gate is closed, or some queue bounded: somebody else may want a GPU.
inline bool is_shared() { return (word.load(std::memory_order_relaxed) & ~kFence) != 0; }
// Not 0: the process uses several GPUs, and calls are looked at for whose memory they name.
extern std::atomic<std::uint32_t> several __attribute__((visibility("hidden")));

// What the gate has to know of a call if it is closed.
struct Call {
  std::uintptr_t frame;  // the stack pointer of the hook
  // What it names, or the default stream of its ABI; null: it cannot be counted on any.
  CUstream stream;
  bool on_stream;  // does it name one at all?
  bool on_all_gpus;
  std::uint64_t kind;   // calls with the same number take about the same time on the GPU
  bool submits = true;  // false: it wants the memory to be there, and names no stream
  // What it names beside the stream's GPU; looked at where a process has several (ADR 29).
  CUdeviceptr memory[2] = {};
  bool names_many = false;      // more than fits there
  CUgraphExec graph = nullptr;  // that it launches
  // Contexts that it says it is for, beside its stream.
  CUcontext contexts[2] = {};
  // By one call on several GPUs. The stream is that of the first.
  const CUDA_LAUNCH_PARAMS* launches = nullptr;
  unsigned launch_count = 0;

  bool names_memory() const {
    return memory[0] != 0 || memory[1] != 0 || names_many || graph != nullptr;
  }
};

// Everything but the open gate: a thread's first call, nested calls, fences, waiting, bounded
// queues. Returns the slot whose mark must be cleared after the call; null: leave() must be called
// instead.
Slot* enter(const Call& call);
void leave();

// Closes the gate of one GPU and waits until no thread is inside a call. Returns false after the
// timeout (none if negative): then the gate is open again. Calls inside may be of other GPUs; they
// are waited for all the same.
bool close(int gpu, std::int64_t timeout_ns);
void open(int gpu);
bool is_closed(int gpu);

// The two halves of close(). The first one does not wait, and is done again if it returns false.
bool begin_close(int gpu);
bool wait_until_outside(std::int64_t timeout_ns);

// Whether any GPU's queue is bounded: then every call comes to enter(), which asks flow.
void set_bounded(bool bounded);

// Whether a huge copy is to be submitted in pieces: somebody else may want the GPU, and it is not
// captured.
bool takes_pieces(const Call& call);

// The gate will probably open soon: until then, threads that wait at it stay awake. Waking up takes
// 40 us and more, in which the GPU would do nothing.
void get_ready(std::int64_t until_ns);

// Lets one of the threads that wait at a closed gate in, or the next one that comes.
void let_one_in(int gpu);
void let_nobody_in(int gpu);
bool may_let_in(int gpu);
// How many went in that way; the work they brought must be waited for too.
std::uint32_t let_in_so_far(int gpu);

// Whether a thread is inside with a captured call that names memory. Such calls pass a closed gate
// and are not waited for, but the driver looks at what they name: none of it leaves meanwhile.
bool is_captured_inside();

// How many threads are inside.
int threads_inside();
// Whether one of them submits something to the GPU that is counted. A synchronous call does so
// until it returns, for as long as that may be.
bool is_submitting(int gpu);

void start_over_in_child();

}  // namespace nvs::interposer::gate
