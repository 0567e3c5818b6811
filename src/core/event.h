// SPDX-License-Identifier: Apache-2.0
// What can happen to the schedule. Events about clients and GPUs that the core does not know are
// ignored: they may have left while a message was under way.
#pragma once

#include <cstdint>
#include <variant>

#include "core/ids.h"
#include "core/policy.h"

namespace nvs::core {

struct GpuAdded {
  GpuId gpu;  // they come in order, 0 first
  std::uint64_t capacity_bytes;
  GpuPolicy policy;
};

// The first client of a tenant brings the tenant with it.
struct ClientJoined {
  ClientId client;
  TenantId tenant;
  Priority priority = Priority::normal;  // of the tenant; later clients do not change it
  std::uint32_t weight = 100;            // 1 to 1000; 100 is an equal share
  Share cap = kNoCap;                    // as CapSet has it
};
struct ClientLeft {
  ClientId client;
};

// A client has a thread at the closed gate of a GPU. It stays true until its window opens there.
struct Wanted {
  ClientId client;
  GpuId gpu;
};
// The client's work is done and it has not submitted for a while; it still has its window.
struct WentIdle {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  Duration quiet = {};  // its work has been done for so long; what was billed since is taken back
};
// It has submitted again, in the window that it still had.
struct WentBusy {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  Duration since = {};  // it has had work for so long; billed now
};

// The answer to CloseWindow, or a window given up unasked. Everything that the client submitted is
// done, and its gate is closed.
struct Drained {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  bool waiting = false;  // threads stand at it: it is wanted as well
  Duration quiet = {};   // as of WentIdle
};
// It is alive and at it.
struct StillDraining {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  Duration remaining = {};  // GPU time that it still has queued; zero: unknown
};
// Its work does not get done: it may wait for a submission that a gate holds back.
struct DrainStalled {
  ClientId client;
  GpuId gpu;
  GrantId grant;
};
// It gave up, and its gate is open again.
struct DrainRefused {
  ClientId client;
  GpuId gpu;
  GrantId grant;
};
// A client that ran without a daemon has its gate open on this GPU.
struct FoundOpen {
  ClientId client;
  GpuId gpu;
  bool in_time = true;  // soon after the daemon's start: it may be waited for
};

// What a client has of a GPU's memory, in bytes.
struct MemoryHeld {
  ClientId client;
  GpuId gpu;
  // Of the last SetAllowance that it goes by; 0: of none. While something is under way because of
  // an earlier one, it goes by that.
  std::uint64_t number = 0;
  std::uint64_t resident = 0;  // can be moved; on the GPU, or on the way from it
  std::uint64_t away = 0;      // can be moved, and has to come before the client may run
  std::uint64_t fixed = 0;     // cannot be moved
  std::uint64_t asked = 0;     // its threads wait to have that much more
  bool is_short = false;       // the driver had less than what is allowed
  bool is_faulted = false;     // its contexts are lost: it runs and moves nothing
  bool stays = false;          // nothing of it can leave just now, for work on another GPU
  bool reached = false;        // work on the client's other GPUs may use it
};
// How much of a GPU's memory there is for all clients together, for what cannot be moved too; 0: it
// is not known, and there is no limit.
struct CapacitySet {
  GpuId gpu;
  std::uint64_t bytes;
};

struct PolicySet {
  GpuId gpu;
  GpuPolicy policy;
};
struct PrioritySet {
  TenantId tenant;
  Priority priority;
};
struct WeightSet {
  TenantId tenant;
  std::uint32_t weight;
};
// How much of each GPU's time the tenant may have, however little the others use.
struct CapSet {
  TenantId tenant;
  Share cap;  // kNoCap: as much as it gets
  // For everybody a new beginning: what others saved under other caps is cut. Not if the tenant
  // itself asked for less: it has no say in what others are owed.
  bool settles = true;
};
// What a tenant that was here before had saved or owes (negative) of a GPU's time, at this moment.
// It counts if the tenant has not used the GPU since it came.
struct CreditSet {
  TenantId tenant;
  GpuId gpu;
  Duration credit;
};
struct TenantPaused {
  TenantId tenant;
};
struct TenantResumed {
  TenantId tenant;
};

// next_deadline() has come.
struct Tick {};

using Event = std::variant<GpuAdded, ClientJoined, ClientLeft, Wanted, WentIdle, WentBusy, Drained,
                           StillDraining, DrainStalled, DrainRefused, FoundOpen, MemoryHeld,
                           CapacitySet, PolicySet, PrioritySet, WeightSet, CapSet, CreditSet,
                           TenantPaused, TenantResumed, Tick>;

}  // namespace nvs::core
