// SPDX-License-Identifier: Apache-2.0
// A pool of stream-ordered memory: segments of device memory taken from the GPU, and the gaps in
// them that the next allocation may use. Which gap that is depends on the order of streams, because
// memory is given back at a point of a stream that may lie in the future.
//
// Not thread-safe: guarded by the driver's lock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cuda_sim/memory/address_space.h"
#include "cuda_sim/objects/context.h"

namespace nvs::sim {

class Driver;

/// Whether a pool may use memory again that a stream gives back, in the words of the driver's
/// attributes.
struct PoolReuse {
  int follow_events = 1;     // after the free in the order that events make
  int opportunistic = 1;     // once the stream has got there
  int internal_waiting = 1;  // by waiting for that stream, where the GPU has no more room
};

/// What somebody gave back, and when: nobody else may use it before the op.
struct PoolFree {
  OpPtr op;  // null: at once
  unsigned long long stream = 0;
};

/// For whom memory is wanted: a stream, and what its next op waits for.
struct PoolUser {
  unsigned long long stream = 0;
  std::vector<OpPtr> before;
};

/// Memory found for an allocation, to be used after these ops.
struct PoolPlace {
  std::shared_ptr<Physical> physical;
  std::uint64_t offset = 0;
  std::vector<OpPtr> after;
  bool grew = false;  // the pool took more from the GPU for it
};

class MemoryPool {
 public:
  /// `bytes_max` 0: as much as the GPU has.
  MemoryPool(unsigned gpu, std::uint64_t bytes_max) : gpu_(gpu), bytes_max_(bytes_max) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  unsigned gpu() const { return gpu_; }
  /// What allocations of this size take.
  static std::uint64_t padded(std::uint64_t bytes);

  /// None when neither the pool nor its GPU has room.
  std::optional<PoolPlace> take(Driver& driver, std::uint64_t bytes, const PoolUser& user);
  void give_back(const Physical& physical, std::uint64_t offset, std::uint64_t bytes,
                 const PoolFree& free);
  /// Gives segments that nothing uses back to the GPU, until no more than `keep` bytes are left.
  void trim_to(std::uint64_t keep);

  CUmemoryPool handle = nullptr;
  PoolReuse reuse;
  std::uint64_t release_threshold = 0;
  std::array<Access, kGpusMax> access{};  // of the other GPUs

  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t reserved_high() const { return reserved_high_; }
  std::uint64_t used_high() const { return used_high_; }
  void forget_reserved_high() { reserved_high_ = reserved_; }
  void forget_used_high() { used_high_ = used_; }

 private:
  struct Gap {
    std::uint64_t size = 0;
    std::vector<PoolFree> frees;
  };
  struct Segment {
    std::shared_ptr<Physical> physical;
    std::map<std::uint64_t, Gap> gaps;  // by offset

    bool idle(Nanos now) const;
  };
  enum class Order { kept, waiting };

  bool may_use(const Gap& gap, const PoolUser& user, Order order) const;
  std::optional<PoolPlace> take_gap(std::uint64_t bytes, const PoolUser& user, Order order);
  PoolPlace cut(Segment& segment, std::map<std::uint64_t, Gap>::iterator gap, std::uint64_t bytes);
  bool grow(Driver& driver, std::uint64_t bytes);

  const unsigned gpu_;
  const std::uint64_t bytes_max_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::uint64_t reserved_ = 0;
  std::uint64_t reserved_high_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t used_high_ = 0;
};

/// The pool that a GPU has from the beginning. With the driver's lock held, as all of these.
MemoryPool& default_pool(Driver& driver, unsigned gpu);

/// The pool that cuMemAllocAsync takes from.
const std::shared_ptr<MemoryPool>& current_pool(Driver& driver, unsigned gpu);

/// What pools do whenever the program synchronises: they keep no more than their thresholds.
void trim_pools(Driver& driver);

}  // namespace nvs::sim
