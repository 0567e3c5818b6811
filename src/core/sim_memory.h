// SPDX-License-Identifier: Apache-2.0
// For tests of memory: GPUs of 16 GiB, and clients that carry out what they are allowed when the
// test lets them.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {

class MemoryTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  using Key = std::pair<int, int>;  // client, GPU
  struct Held {
    std::uint64_t number = 0;
    std::uint64_t resident = 0;
    std::uint64_t away = 0;
    std::uint64_t fixed = 0;
    std::uint64_t asked = 0;
    bool is_faulted = false;
    bool stays = false;
    bool reached = false;
  };

  explicit MemoryTest(int gpus = 1, GpuPolicy policy = {}) : node(gpus, policy) {
    for (int gpu = 0; gpu < gpus; ++gpu) set_capacity(16, gpu);
  }

  void set_capacity(std::uint64_t gib, int gpu = 0) {
    node.step(CapacitySet{GpuId(static_cast<std::uint32_t>(gpu)), gib * kGiB});
  }
  void tell(Key key, bool is_short = false) {
    const Held& it = held[key];
    node.step(MemoryHeld{ClientId(static_cast<std::uint64_t>(key.first)),
                         GpuId(static_cast<std::uint32_t>(key.second)), it.number, it.resident,
                         it.away, it.fixed, it.asked, is_short, it.is_faulted, it.stays,
                         it.reached});
  }
  // All in GiB.
  void has(int client, std::uint64_t resident, std::uint64_t away = 0, std::uint64_t fixed = 0,
           int gpu = 0) {
    held[{client, gpu}] = {held[{client, gpu}].number,
                           resident * kGiB,
                           away * kGiB,
                           fixed * kGiB,
                           held[{client, gpu}].asked,
                           held[{client, gpu}].is_faulted,
                           held[{client, gpu}].stays,
                           held[{client, gpu}].reached};
    tell({client, gpu});
  }
  void asks(int client, std::uint64_t gib, int gpu = 0) {
    held[{client, gpu}].asked = gib * kGiB;
    tell({client, gpu});
  }
  // Its contexts are lost: what it has stays where it is.
  void faults(int client) {
    Held& it = held[{client, 0}];
    it = {it.number, 0, 0, it.fixed + it.resident, 0, true, false, false};
    tell({client, 0});
  }
  // Another GPU is at work on what it has, or is not any more.
  void stays(int client, bool it_does) {
    Held& it = held[{client, 0}];
    it.stays = it_does;
    it.number = node.allowed(client).number;
    tell({client, 0});
  }
  // The driver has not what the client may have.
  void lacks(int client) {
    held[{client, 0}].number = node.allowed(client).number;
    tell({client, 0}, true);
  }
  std::uint64_t usable() const { return node.view().gpus[0].usable_bytes / kGiB; }
  std::uint64_t allowed(int client, int gpu = 0) const {
    return node.allowed(client, gpu).bytes / kGiB;
  }

  // Goes by its latest allowance: moves what it may, allocates what it asked for, and tells.
  void obey(Key key) {
    Held& it = held[key];
    const SimNode::Allowed now = node.allowed(key.first, key.second);
    const Held before = it;
    it.number = now.number;
    const std::uint64_t all = it.resident + it.away;
    const bool runs = node.is_open(key.first, key.second) || node.is_closing(key.first, key.second);
    if (now.bytes >= it.resident || !(runs || it.stays)) it.resident = std::min(all, now.bytes);
    it.away = all - it.resident;
    if (it.away == 0 && it.asked > 0 && now.bytes >= all + it.asked) {
      it.resident += std::exchange(it.asked, 0);
    }
    if (it.number != before.number || it.resident != before.resident || it.asked != before.asked) {
      tell(key);
    }
  }
  void obey(int client) { obey(Key{client, 0}); }
  // Until nobody has anything left to do.
  void obey_all() {
    for (int round = 0; round < 6; ++round) {
      for (const auto& [key, it] : std::map<Key, Held>(held)) obey(key);
    }
  }
  // Everybody obeys every millisecond.
  void pass_ms(int ms) {
    for (int i = 0; i < ms; ++i) {
      obey_all();
      node.pass_ms(1);
    }
    obey_all();
  }
  void leave(int client) {
    std::erase_if(held, [client](const auto& it) { return it.first.first == client; });
    node.leave(client);
  }
  bool is_complete(int client, int gpu = 0) { return held[{client, gpu}].away == 0; }
  std::uint64_t resident(int client, int gpu = 0) { return held[{client, gpu}].resident / kGiB; }
  // As the core counts it.
  std::uint64_t committed() const { return node.view().gpus[0].committed_bytes / kGiB; }
  std::uint64_t turns() const { return node.view().gpus[0].turns; }

  SimNode node;
  std::map<Key, Held> held;
};

}  // namespace nvs::core
