// SPDX-License-Identifier: Apache-2.0
// What a run is made of, as data: GPUs, tenants with their processes and loads, and what happens to
// them when. Scenarios write plans by hand, seeds draw them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::sim {

inline constexpr core::Share kPercent = core::kWholeGpu / 100;

struct MemoryChange {
  Duration at;             // after its start
  std::int64_t bytes = 0;  // more, or less
};
// What a process has of one GPU's memory.
struct MemoryPlan {
  std::uint64_t bytes = 0;  // before it does anything; 0: it never says anything about memory
  std::uint64_t fixed = 0;
  bool reached = false;  // work of the process on other GPUs may use it
  std::vector<MemoryChange> changes;
};

// What a process does on one GPU.
struct Load {
  enum class Kind : std::uint8_t {
    saturating,  // always has more
    bursty,      // work, then thinks, then has work again
    requests,    // work arrives whether or not the last is done
    once,        // some work at the start, and no more
    collective,  // rounds of kernels that wait for those of the other members
  };
  std::uint32_t gpu = 0;
  Kind kind = Kind::saturating;
  Duration burst = Duration::from_ms(1);   // GPU time a burst, request or round
  Duration think = Duration::from_ms(10);  // between bursts, requests, or groups of rounds
  Duration kernel = Duration::from_us(500);
  Duration depth = Duration::from_ms(10);  // how far ahead of the GPU it submits if it may
  std::uint32_t group = 0;                 // which collective
  MemoryPlan memory;
};

struct ProcessPlan {
  std::vector<Load> loads;
  Duration start;
  Duration idle_after = Duration::from_us(300);  // without work, before it says so
  Duration lateness;                             // how late it may be in all it says and does
  // How it says that it is idle or busy.
  enum class Tells : std::uint8_t {
    when,   // no more than that
    since,  // and since when
    lies,   // and since when, by chance
  };
  Tells tells = Tells::when;
  Duration busy_after;  // with work again, before it says so
};

struct TenantPlan {
  std::string label;  // rows of the table
  core::Priority priority = core::Priority::normal;
  std::uint32_t weight = 100;
  core::Share cap = core::kNoCap;
  std::vector<ProcessPlan> processes;
};

// A group of kernels that end together: each round needs all members.
struct CollectivePlan {
  Duration round = Duration::from_ms(2);
  std::uint32_t ahead = 1;   // rounds that a member may submit before the others do
  std::uint32_t rounds = 0;  // then it rests; 0: never
  Duration rest;
};

struct Happening {
  enum class Kind : std::uint8_t {
    crash,           // process
    leave_and_join,  // process; back after `span`
    freeze,          // process, for `span`
    refuse_drains,   // process, for `span`: a kernel that does not end
    keep_memory,     // process, for `span`: work on another GPU does not let go of it
    lose_contexts,   // process: it lives on, runs nothing and keeps its memory
    set_policy,      // GPU
    set_priority,    // tenant
    set_weight,      // tenant
    set_cap,         // tenant
    pause,           // tenant, for `span`
    restart_daemon,  // away for `span`
    stall_daemon,    // for `span`
    stop_clock,      // for `span`
    jump_clock,      // ahead by `span`
    take_memory,     // of a GPU, by somebody who is no client, for `span`
    set_capacity,    // of a GPU
  };
  Duration at;
  Kind kind = Kind::crash;
  std::uint32_t who = 0;  // GPU or tenant by number; processes are counted over all tenants
  Duration span;
  core::GpuPolicy policy;
  core::Priority priority = core::Priority::normal;
  std::uint32_t weight = 100;
  std::uint64_t bytes = 0;
  core::Share cap = core::kNoCap;
};

struct Plan {
  std::vector<core::GpuPolicy> gpus;
  std::vector<TenantPlan> tenants;
  std::vector<CollectivePlan> collectives;
  std::vector<Happening> happenings;
  Duration length = Duration::from_s(1);
  Duration delay = Duration::from_us(50);       // of a message, at most
  Duration delay_rare = Duration::from_us(50);  // one in 20 may take this long
  bool quiet = false;
  bool capped = false;                                // somebody has a cap at some time
  std::uint64_t capacity = std::uint64_t{80} << 30U;  // of each GPU
  std::uint64_t bus_rate = 16'000'000'000;            // bytes a second, each way
  Duration death_lag;  // until the driver has the memory of a dead process back, at most
  // Nobody takes memory that the core cannot know of: no promise of it can be broken.
  bool strict_memory = false;
};

// How large drawn plans are; nothing: drawn too.
struct PlanSize {
  std::uint32_t tenants = 0;
  std::uint32_t gpus = 0;
  Duration length;
};

Plan draw_plan(std::uint64_t seed, const PlanSize& size);

// Gives the processes of some plans memory, and lets things happen to it. The rest of the plan
// stays as it was drawn.
void draw_memory(std::uint64_t seed, Plan& plan);
// The same for caps.
void draw_caps(std::uint64_t seed, Plan& plan);

}  // namespace nvs::sim
