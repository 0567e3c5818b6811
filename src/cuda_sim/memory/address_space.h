// SPDX-License-Identifier: Apache-2.0
// What each address means to a simulated GPU: reserved ranges, the memory mapped into them, plain
// allocations, and host memory the driver knows. Device addresses are real reservations without
// access, so that the host faults on them as it would on hardware, and no host pointer can be
// mistaken for one.
//
// Not thread-safe: guarded by the driver's lock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "cuda_sim/memory/view.h"

namespace nvs::sim {

enum class Access : std::uint8_t { none = 0, read = 1, read_write = 3 };

enum class MemoryKind { plain, vmm, ipc, pool, graph };

class MemoryPool;
struct GraphSlot;

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;  // as the program asked
  MemoryKind kind = MemoryKind::plain;
  std::shared_ptr<Physical> physical;
  std::uint64_t offset = 0;      // in the physical memory
  std::uint64_t context = 0;     // key of the owning context; 0 for VMM mappings
  std::uint64_t buffer_id = 0;   // unique for the life of the process
  std::uint64_t vmm_handle = 0;  // for cuMemRetainAllocationHandle
  std::array<Access, kGpusMax> access{};
  bool sync_memops = false;                 // as cuPointerSetAttribute left it
  std::map<std::uint64_t, unsigned> opens;  // of IPC memory: addresses handed out, and how often
  std::shared_ptr<MemoryPool> pool;         // of stream-ordered memory
  std::shared_ptr<GraphSlot> slot;          // of a graph's memory
  bool being_freed = false;                 // by a stream that has not got there yet

  std::uint64_t end() const { return begin + size; }
};

struct HostRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  unsigned flags = 0;
  bool registered = false;  // by the program, rather than allocated for it
  bool managed = false;
  std::uint64_t context = 0;
  std::uint64_t buffer_id = 0;
};

struct Reservation {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  bool whole_allocation = false;  // made for a plain allocation: the program cannot map into it
};

class AddressSpace {
 public:
  /// 0 when no addresses are left. A hint that cannot be had is ignored, as the driver does.
  std::uint64_t reserve(std::uint64_t size, std::uint64_t alignment, std::uint64_t hint,
                        bool whole_allocation);
  bool release(std::uint64_t begin, std::uint64_t size);
  /// Releases the reservation that holds `address`, but only after many others were retired: until
  /// then an old pointer leads nowhere.
  void retire(std::uint64_t address);
  /// The reservation that holds all of [begin, begin + size).
  const Reservation* reservation(std::uint64_t begin, std::uint64_t size) const;

  Mapping& map(Mapping mapping);
  void unmap(std::uint64_t begin) { mappings_.erase(begin); }
  Mapping* find(std::uint64_t address);
  bool any_in(std::uint64_t begin, std::uint64_t size) const;
  /// All mappings with bytes in the range, in order.
  std::vector<Mapping*> mappings_in(std::uint64_t begin, std::uint64_t size);
  std::map<std::uint64_t, Mapping>& mappings() { return mappings_; }

  void add_host(HostRange range);
  void remove_host(std::uint64_t begin) { hosts_.erase(begin); }
  HostRange* find_host(std::uint64_t address);
  /// Host memory that has bytes in the range, or null.
  const HostRange* first_host_in(std::uint64_t begin, std::uint64_t size) const;
  std::map<std::uint64_t, HostRange>& hosts() { return hosts_; }

  /// What GPU `gpu` finds at [begin, begin + size). None if any byte is unmapped or may not be
  /// accessed so.
  std::optional<View> view(std::uint64_t begin, std::uint64_t size, unsigned gpu, Access need);

  std::uint64_t next_buffer_id() { return ++buffer_ids_; }

 private:
  std::map<std::uint64_t, Reservation> reservations_;
  std::deque<std::uint64_t> retired_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint64_t, HostRange> hosts_;
  std::uint64_t buffer_ids_ = 0;
};

}  // namespace nvs::sim
