// SPDX-License-Identifier: Apache-2.0
// A process's membership of a simulated machine: finds or makes the shared segment, takes a slot in
// it, and keeps the books of GPU memory. The books are per process, so that a killed process takes
// its share with it.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "base/unique_fd.h"
#include "cuda_sim/config/model.h"
#include "cuda_sim/config/settings.h"
#include "cuda_sim/machine/residency.h"
#include "cuda_sim/machine/segment.h"

namespace nvs::sim {

/// Whether what a block holds is wanted any more.
enum class Content { kept, dropped };

using SlotSet = std::bitset<kProcessesMax>;

class Machine {
 public:
  static tl::expected<std::unique_ptr<Machine>, std::string> attach(const Settings& settings);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Gives the slot and what it holds back, and removes the segment if nobody is left.
  void detach();

  unsigned gpus() const { return segment_->gpus; }
  unsigned scale() const { return segment_->scale; }
  double time_factor() const { return segment_->time_factor; }
  const Model& model() const { return *model_; }
  GpuShare& gpu(unsigned index) { return segment_->gpu[index]; }
  Segment& segment() { return *segment_; }
  ProcessSlot& own_slot() { return segment_->processes[slot_]; }
  unsigned slot_index() const { return slot_; }

  /// Sizes as programs see them, already scaled.
  std::uint64_t capacity() const { return model_->memory_bytes / scale() & ~std::uint64_t{4095}; }
  std::uint64_t used(unsigned gpu_index);

  /// Modelled nanoseconds as this machine's clock shows them.
  Nanos dilate(double model_ns) const {
    return static_cast<Nanos>(model_ns * segment_->time_factor);
  }

  /// Takes bytes from a GPU for this process; false if there is no room.
  bool charge(unsigned gpu_index, std::uint64_t bytes);
  void refund(unsigned gpu_index, std::uint64_t bytes);

  /// Turns bytes charged to this process into an allocation that several processes can hold. 0: no
  /// entry is free.
  std::uint64_t share(unsigned gpu_index, std::uint64_t bytes);
  /// A process may hold the same memory several times and lets go of it as often.
  bool hold_shared(std::uint64_t id);
  void drop_shared(std::uint64_t id);

  /// Managed memory, by the block.
  std::uint64_t managed_block_bytes() const { return (std::uint64_t{2} << 20) / scale(); }
  /// The first of so many names that no block ever had.
  std::uint64_t name_blocks(std::uint64_t count);
  /// Work on the GPU uses these blocks, in this order.
  Migration touch_blocks(unsigned gpu_index, std::span<const BlockTouch> touches);
  /// Takes blocks off their GPUs. How many had to be carried.
  std::uint64_t send_home(std::span<BlockPlace* const> places, Content content);
  bool is_on(unsigned gpu_index, const BlockPlace& place);

  /// Clears what dead processes left behind.
  void reclaim();

  std::uint64_t next_context_key();
  void record_violation(const std::string& text);
  void sample_utilisation(unsigned gpu_index, Nanos now);
  /// Percent of the last second or so in which the GPU computed.
  unsigned utilisation(unsigned gpu_index, Nanos now);

 private:
  friend class Residency;

  Machine() = default;
  tl::expected<void, std::string> open_segment(const Settings& settings);
  tl::expected<void, std::string> take_slot();
  bool anyone_alive();
  std::uint64_t used_locked(unsigned gpu_index);
  void reclaim_locked();
  void recount_frames_locked(const SlotSet& alive);
  SlotSet live_slots();
  bool evict_for_locked(unsigned gpu_index, std::uint64_t bytes);
  SharedAllocation* find_shared(std::uint64_t id);
  void set_holder(SharedAllocation& entry, bool holds);

  // Whether this process still has its slot. What it counts after that, while its last threads run,
  // would be somebody else's; written under the ledger's lock.
  std::atomic<bool> attached_{false};
  std::map<std::uint64_t, unsigned> holds_;  // of shared memory, by id; under the ledger's lock
  std::string path_;
  UniqueFd file_;
  Segment* segment_ = nullptr;
  const Model* model_ = nullptr;
  unsigned slot_ = 0;
  std::atomic<std::uint32_t> contexts_made_{0};
};

}  // namespace nvs::sim
