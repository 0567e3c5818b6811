// SPDX-License-Identifier: Apache-2.0
// Contexts and what lives in them: streams and events. Plain data; the rules are in the api folder.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_sim/engine/engine.h"
#include "cuda_sim/objects/shared_event.h"

namespace nvs::sim {

struct Capture;
struct Context;

enum class StreamKind { legacy, per_thread, created };

struct Stream {
  CUstream handle = nullptr;
  StreamKind kind = StreamKind::created;
  Context* context = nullptr;  // contexts are never freed, only marked destroyed
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes;  // those that were set
  OpPtr tail;                                                        // the last op submitted
  std::shared_ptr<Capture> capture;  // set while the stream captures
  std::vector<struct GraphNode*> capture_tail;

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
  CUevent handle = nullptr;
  Context* context = nullptr;
  unsigned flags = 0;
  OpPtr record;                          // null: never recorded
  std::shared_ptr<Capture> capture;      // set when the last record was captured
  bool capture_over = false;             // that capture has ended
  std::vector<struct GraphNode*> nodes;  // what that record stands for
  std::shared_ptr<SharedEvent> shared;   // set for an interprocess event
  std::uint64_t shared_record = 0;       // the number of the record above, among all processes
};

/// Who carries out waits for a value in memory. Each wait that is pending has one of its own: on a
/// worker that other work shares, it could hold up the very work that is to write the value.
struct ValueWaiter {
  std::shared_ptr<Engine> engine;
  OpPtr last;
};

struct Context {
  CUcontext handle = nullptr;
  unsigned gpu = 0;
  unsigned flags = 0;
  unsigned long long id = 0;
  bool primary = false;
  bool destroyed = false;    // a primary context comes back when it is retained again
  unsigned attachments = 1;  // cuCtxCreate and each cuCtxAttach
  CUresult sticky = CUDA_SUCCESS;
  std::uint64_t key = 0;
  std::uint64_t charged_bytes = 0;  // what it takes of its GPU beside allocations
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Stream> legacy;
  std::map<unsigned long, std::shared_ptr<Stream>> per_thread;  // by thread
  std::vector<std::shared_ptr<Stream>> streams;                 // created ones
  std::vector<ValueWaiter> value_waiters;
  OpPtr barrier;                       // what all work waits for: cuCtxWaitEvent
  std::array<bool, kGpusMax> peers{};  // devices it may access
  std::map<int, std::size_t> limits;
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
};

}  // namespace nvs::sim
