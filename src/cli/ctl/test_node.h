// SPDX-License-Identifier: Apache-2.0
// A node for tests: two GPUs, three tenants in the states that matter, one with a nasty name.
#pragma once

#include "cli/ctl/node_status.h"

namespace nvs::cli {

inline NodeStatus test_node() {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  NodeStatus node;
  node.version = "0.1.0";
  node.folder = "/var/run/nvshare";
  node.pid = 812;
  node.uptime_s = 7980;
  node.host_memory = HostMemoryStatus{64 * kGib, 12 * kGib, 3 * kGib / 2, 4};
  GpuStatus first{0, "GPU-aa", "NVIDIA H200", 140 * kGib, "auto", 20, {},
                  1, 1,        104'233,       7000,       41.5};
  GpuStatus second{1, "GPU-bb", "NVIDIA H200", 140 * kGib, "serial", 20, 30.0, {}, 0, 0, 0, 0};
  first.capacity_bytes = 138 * kGib;
  first.visible_bytes = 137 * kGib;
  first.other_bytes = 2 * kGib;
  first.swap_idle_s = 61.54;
  node.gpus = {first, second};
  node.tenants = {
      {1,
       "train.py",
       "normal",
       100,
       false,
       {4001},
       {{0, "running", 4000, 120.5, 0, 0.0421, 90'000, 12 * kGib, 7 * kGib, 4 * kGib, 2 * kGib,
         kGib, 5 * kGib, 3 * kGib}}},
      {2,
       "research/llama-serve-7c9d8f5b6-x2x4q",
       "high",
       100,
       false,
       {4002, 4003},
       {{0, "waiting", 3000, 3.25, 0.012, 0.0198, 80'000, 20 * kGib},
        {1, "idle", 1.5, 0, 0, 0, 1, 0}}},
      {3, "a\x1b[31m\xff\n", "low", 100, true, {}, {}},
  };
  node.tenants[0].uses[0].driver_bytes = kGib / 2;
  UseStatus& swapped = node.tenants[0].uses[0];
  swapped.memory_wait_s = 84.2;
  swapped.copied_out_bytes = 40 * kGib;
  swapped.copied_in_bytes = 76 * kGib;
  return node;
}

// The same with limits: of the first tenant both, of the second a cap that is scaled down.
inline NodeStatus limited_node() {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  NodeStatus node = test_node();
  UseStatus& first = node.tenants[0].uses[0];
  first.memory_limit_bytes = 16 * kGib;
  first.memory_used_bytes = 12 * kGib;
  first.cap_percent = first.cap_in_force_percent = 60;
  first.share_10s = 0.5984;
  first.share_60s = 0.6;
  first.throttled_s = 75;
  UseStatus& second = node.tenants[1].uses[0];
  second.memory_used_bytes = 20 * kGib;
  second.cap_percent = 50;
  second.cap_in_force_percent = 33.333;
  second.share_10s = 0.3331;
  node.tenants[2].limit_errors = {"the memory limit '\x1b' of the environment is not understood"};
  return node;
}

}  // namespace nvs::cli
