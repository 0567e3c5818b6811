// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/residency.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "cuda_sim/machine/machine.h"

namespace nvs::sim {
namespace {

// A process may be killed between any two stores. A frame counts while it names a block, so the
// name is taken away first and written last.
void set_name(ManagedFrame& frame, std::uint64_t name) {
  std::atomic_ref{frame.block}.store(name, std::memory_order_release);
}

}  // namespace

Residency::Residency(Machine& machine, unsigned gpu)
    : machine_(machine), gpu_(gpu), used_(machine.used_locked(gpu)) {}

ManagedFrame* Residency::find(Machine& machine, const BlockPlace& place) {
  if (!place.on_gpu) return nullptr;
  ManagedFrame& frame = machine.segment().frames[place.gpu][place.frame];
  const std::uint64_t block = std::atomic_ref{frame.block}.load(std::memory_order_acquire);
  return block == place.name ? &frame : nullptr;
}

void Residency::vacate(Machine& machine, unsigned gpu, ManagedFrame& frame) {
  set_name(frame, 0);
  machine.segment().processes[frame.slot].gpu[gpu].managed_blocks.fetch_sub(1);
}

void Residency::touch(std::span<const BlockTouch> touches) {
  for (const BlockTouch& touch : touches) {
    BlockPlace& place = *touch.place;
    ManagedFrame* frame = find(machine_, place);
    if (frame != nullptr && place.gpu == gpu_) {
      if (!touch.duplicate) frame->on_host_too = 0;
      use(place.frame);
      continue;
    }
    if (!make_room(machine_.managed_block_bytes())) {
      ++moved_.left_out;
      continue;
    }
    // From another GPU it comes straight, at the price of coming in.
    if (frame != nullptr) vacate(machine_, place.gpu, *frame);
    occupy(free_frame(), touch);
    ++moved_.in;
  }
  machine_.gpu(gpu_).managed_in.fetch_add(moved_.in);
}

void Residency::occupy(std::uint32_t index, const BlockTouch& touch) {
  ManagedFrame& frame = machine_.segment().frames[gpu_][index];
  set_name(frame, 0);
  frame.slot = machine_.slot_index();
  frame.on_host_too = touch.duplicate ? 1 : 0;
  machine_.own_slot().gpu[gpu_].managed_blocks.fetch_add(1);
  used_ += machine_.managed_block_bytes();
  use(index);
  set_name(frame, touch.place->name);
  GpuShare& share = machine_.gpu(gpu_);
  if (index == share.frames_top.load()) share.frames_top.store(index + 1);
  *touch.place = {touch.place->name, true, gpu_, index};
}

void Residency::use(std::uint32_t index) {
  const std::uint64_t now = machine_.segment().managed_touches.fetch_add(1) + 1;
  machine_.segment().frames[gpu_][index].used_at = now;
  if (listed_) oldest_.emplace_back(now, index);
}

// There is one, because no card has room for more blocks than it has frames.
std::uint32_t Residency::free_frame() {
  const auto& frames = machine_.segment().frames[gpu_];
  const std::uint32_t top = machine_.gpu(gpu_).frames_top.load();
  while (cursor_ < top && frames[cursor_].block != 0) ++cursor_;
  return cursor_++;
}

bool Residency::make_room(std::uint64_t bytes) {
  if (bytes > machine_.capacity()) return false;
  while (used_ > machine_.capacity() - bytes) {
    if (!reclaimed_) {  // what the dead left behind goes before what the living use
      machine_.reclaim_locked();
      used_ = machine_.used_locked(gpu_);
      reclaimed_ = true;
      cursor_ = 0;
    } else if (!evict_one()) {
      return false;
    }
  }
  return true;
}

bool Residency::evict_one() {
  if (!listed_) list_frames();
  while (!oldest_.empty()) {
    const auto [used_at, index] = oldest_.front();
    oldest_.pop_front();
    ManagedFrame& frame = machine_.segment().frames[gpu_][index];
    if (frame.block == 0 || frame.used_at != used_at) continue;
    vacate(machine_, gpu_, frame);
    used_ -= machine_.managed_block_bytes();
    cursor_ = std::min(cursor_, index);
    if (frame.on_host_too == 0) {
      ++moved_.out;
      machine_.gpu(gpu_).managed_out.fetch_add(1);
    }
    return true;
  }
  return false;
}

void Residency::list_frames() {
  const auto& frames = machine_.segment().frames[gpu_];
  const std::uint32_t top = machine_.gpu(gpu_).frames_top.load();
  for (std::uint32_t i = 0; i < top; ++i) {
    if (frames[i].block != 0) oldest_.emplace_back(frames[i].used_at, i);
  }
  std::sort(oldest_.begin(), oldest_.end());
  listed_ = true;
}

Migration Machine::touch_blocks(unsigned gpu_index, std::span<const BlockTouch> touches) {
  const std::lock_guard guard{segment_->ledger_lock};
  if (!attached_ || touches.empty()) return {};
  Residency residency(*this, gpu_index);
  residency.touch(touches);
  return residency.moved();
}

std::uint64_t Machine::send_home(std::span<BlockPlace* const> places, Content content) {
  const std::lock_guard guard{segment_->ledger_lock};
  std::uint64_t carried = 0;
  for (BlockPlace* place : places) {
    ManagedFrame* frame = attached_ ? Residency::find(*this, *place) : nullptr;
    place->on_gpu = false;
    if (frame == nullptr) continue;
    const bool carry = content == Content::kept && frame->on_host_too == 0;
    Residency::vacate(*this, place->gpu, *frame);
    if (!carry) continue;
    ++carried;
    segment_->gpu[place->gpu].managed_out.fetch_add(1);
  }
  return carried;
}

bool Machine::is_on(unsigned gpu_index, const BlockPlace& place) {
  return Residency::find(*this, place) != nullptr && place.gpu == gpu_index;
}

std::uint64_t Machine::name_blocks(std::uint64_t count) {
  return segment_->next_managed_block.fetch_add(count);
}

// Whoever was killed may have been about to count: only the frames themselves can be relied on.
// Nobody's count is wrong in between, should this process be killed too.
void Machine::recount_frames_locked(const SlotSet& alive) {
  for (unsigned gpu_index = 0; gpu_index < segment_->gpus; ++gpu_index) {
    std::array<std::uint32_t, kProcessesMax> blocks{};
    const std::uint32_t top = segment_->gpu[gpu_index].frames_top.load();
    for (std::uint32_t i = 0; i < top; ++i) {
      ManagedFrame& frame = segment_->frames[gpu_index][i];
      if (frame.block == 0) continue;
      if (alive.test(frame.slot)) {
        ++blocks[frame.slot];
      } else {
        set_name(frame, 0);
      }
    }
    for (unsigned slot = 0; slot < kProcessesMax; ++slot) {
      segment_->processes[slot].gpu[gpu_index].managed_blocks.store(blocks[slot]);
    }
  }
}

}  // namespace nvs::sim
