// SPDX-License-Identifier: Apache-2.0
// What clients say that they have of each GPU's memory, and what they are told of it: the size that
// their programs see, and how much they may allocate. It sends nothing; what is to be told is
// collected for whoever does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "daemon/capacity.h"
#include "daemon/held_memory.h"

namespace nvs::daemon {

class MemoryBooks {
 public:
  // What can be held in host memory, at most, and in pieces of which size it is lent.
  explicit MemoryBooks(std::uint64_t host_bytes, std::uint64_t segment_bytes = 0)
      : host_bytes_(host_bytes), segment_bytes_(segment_bytes) {}

  // The next one, from 0 on. `physical` is what it has, `size` what it is treated as having; 0: not
  // known.
  void add_gpu(std::uint64_t physical, std::uint64_t size);
  // What it has is known only now: those that use it are told, and what they said is believed no
  // further than that.
  void set_size(core::GpuId gpu, std::uint64_t physical, std::uint64_t size);
  void use(core::ClientId client, core::TenantId tenant, core::GpuId gpu);
  void hold(core::ClientId client, core::GpuId gpu, const HeldMemory& held);
  void leave(core::ClientId client);
  // What the driver says is free: the new capacity, if it is another one.
  std::optional<std::uint64_t> measure(core::GpuId gpu, std::uint64_t free_bytes);

  struct Shown {
    core::ClientId client;
    core::GpuId gpu;
    std::uint64_t total;
    std::uint64_t limit;
    bool operator==(const Shown&) const = default;
  };
  // What there is to tell clients since it was last called.
  std::vector<Shown> take_shown();

  const Capacity& capacity(core::GpuId gpu) const { return gpus_[core::index_of(gpu)].capacity; }
  // Those that use it.
  std::vector<core::ClientId> clients_on(core::GpuId gpu) const;
  // Nothing if it has not said.
  std::optional<HeldMemory> held(core::ClientId client, core::GpuId gpu) const;

 private:
  struct Client {
    core::TenantId tenant{};
    HeldMemory held;
    bool has_told = false;
    std::uint64_t total = 0;  // as it was shown when it came: programs remember it
    std::uint64_t limit = 0;  // as it was last told
  };
  struct Gpu {
    Capacity capacity;
    std::uint64_t physical = 0;
    std::map<core::ClientId, Client> clients = {};
    HeldMemory sum = {};
    std::map<core::TenantId, std::uint64_t> movable = {};  // of those that have any
    std::uint64_t processes = 0;                           // with memory
    std::uint64_t moves = 0;
    bool was_limited = false;
  };

  void show(core::GpuId id, core::ClientId client);
  void change(Gpu& gpu, Client& client, const HeldMemory& held);
  void review(core::GpuId id);
  Demand demand_on(const Gpu& gpu) const;
  static std::uint64_t reach_of(const Gpu& gpu, const Client& client);
  std::uint64_t host_bytes_for(std::uint64_t processes) const;

  std::uint64_t host_bytes_;
  std::uint64_t segment_bytes_;
  std::vector<Gpu> gpus_;  // by GpuId
  std::vector<Shown> shown_;
};

}  // namespace nvs::daemon
