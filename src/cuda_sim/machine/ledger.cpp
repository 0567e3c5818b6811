// SPDX-License-Identifier: Apache-2.0
// The part of Machine that counts: GPU memory, memory held by several processes, violations and
// utilisation.
#include <algorithm>
#include <cstdio>
#include <mutex>

#include "cuda_sim/machine/machine.h"

namespace nvs::sim {

std::uint64_t Machine::used(unsigned gpu_index) {
  const std::lock_guard guard{segment_->ledger_lock};
  reclaim_locked();
  return used_locked(gpu_index);
}

bool Machine::charge(unsigned gpu_index, std::uint64_t bytes) {
  const std::lock_guard guard{segment_->ledger_lock};
  if (!attached_) return false;
  const auto fits = [&] {
    const std::uint64_t used = used_locked(gpu_index);
    return bytes <= capacity() && used <= capacity() - bytes;
  };
  if (!fits()) {
    reclaim_locked();
    if (!fits() && !evict_for_locked(gpu_index, bytes)) return false;
  }
  own_slot().gpu[gpu_index].bytes.fetch_add(bytes);
  return true;
}

// Memory that can be had in no other way: managed blocks make room. Nobody waits for that, but the
// way out is taken meanwhile.
bool Machine::evict_for_locked(unsigned gpu_index, std::uint64_t bytes) {
  Residency residency(*this, gpu_index);
  const bool made = residency.make_room(bytes);
  const double nominal =
      static_cast<double>(residency.moved().out * managed_block_bytes()) * scale();
  GpuShare& share = segment_->gpu[gpu_index];
  const Nanos free_at = std::max(share.copy_out_free_at.load(), now_ns());
  if (nominal > 0) {
    share.copy_out_free_at.store(free_at + dilate(nominal / model_->managed_out_bytes_per_ns));
  }
  return made;
}

void Machine::refund(unsigned gpu_index, std::uint64_t bytes) {
  const std::lock_guard guard{segment_->ledger_lock};
  if (attached_) own_slot().gpu[gpu_index].bytes.fetch_sub(bytes);
}

std::uint64_t Machine::share(unsigned gpu_index, std::uint64_t bytes) {
  const std::lock_guard guard{segment_->ledger_lock};
  if (!attached_) return 0;
  for (SharedAllocation& entry : segment_->shared) {
    if (entry.id.load() != 0) continue;
    const std::uint64_t id = segment_->next_shared_id.fetch_add(1);
    entry.gpu = gpu_index;
    for (auto& word : entry.holders) word.store(0);
    set_holder(entry, true);
    entry.bytes.store(bytes);
    // Killed between these two lines, the process leaves an entry that counts twice, until its slot
    // is reclaimed.
    entry.id.store(id);
    own_slot().gpu[gpu_index].bytes.fetch_sub(bytes);
    holds_[id] = 1;
    return id;
  }
  return 0;
}

SharedAllocation* Machine::find_shared(std::uint64_t id) {
  for (SharedAllocation& entry : segment_->shared) {
    if (entry.id.load() == id) return &entry;
  }
  return nullptr;
}

void Machine::set_holder(SharedAllocation& entry, bool holds) {
  const std::uint64_t bit = std::uint64_t{1} << (slot_ % 64);
  if (holds) {
    entry.holders[slot_ / 64].fetch_or(bit);
  } else {
    entry.holders[slot_ / 64].fetch_and(~bit);
  }
}

bool Machine::hold_shared(std::uint64_t id) {
  const std::lock_guard guard{segment_->ledger_lock};
  SharedAllocation* entry = attached_ ? find_shared(id) : nullptr;
  if (entry == nullptr) return false;
  set_holder(*entry, true);
  ++holds_[id];
  return true;
}

void Machine::drop_shared(std::uint64_t id) {
  const std::lock_guard guard{segment_->ledger_lock};
  const auto hold = holds_.find(id);
  if (!attached_ || hold == holds_.end() || --hold->second > 0) return;
  holds_.erase(hold);
  if (SharedAllocation* entry = find_shared(id); entry != nullptr) set_holder(*entry, false);
  reclaim_locked();
}

std::uint64_t Machine::next_context_key() {
  const auto pid = static_cast<std::uint64_t>(own_slot().pid.load());
  return pid << 24 | (contexts_made_.fetch_add(1) + 1);
}

void Machine::record_violation(const std::string& text) {
  const std::uint64_t index = segment_->violations.fetch_add(1);
  auto& line = segment_->violation_text[index % kViolationsMax];
  std::snprintf(line.data(), line.size(), "pid %d: %s", own_slot().pid.load(), text.c_str());
  std::fprintf(stderr, "cuda_sim: violation: %s\n", text.c_str());
}

void Machine::sample_utilisation(unsigned gpu_index, Nanos now) {
  constexpr Nanos kPeriod = 50'000'000;
  GpuShare& gpu = segment_->gpu[gpu_index];
  const std::uint32_t next = gpu.next_sample.load();
  const UtilisationSample& last =
      gpu.samples[(next + kUtilisationSamples - 1) % kUtilisationSamples];
  if (now < last.at.load() + kPeriod) return;
  std::uint32_t expected = next;
  if (!gpu.next_sample.compare_exchange_strong(expected, (next + 1) % kUtilisationSamples)) return;
  gpu.samples[next].busy_ns.store(gpu.compute.busy_ns());
  gpu.samples[next].at.store(now);
}

unsigned Machine::utilisation(unsigned gpu_index, Nanos now) {
  constexpr Nanos kWindow = 1'000'000'000;
  sample_utilisation(gpu_index, now);
  const GpuShare& gpu = segment_->gpu[gpu_index];
  Nanos oldest_at = now;
  std::uint64_t oldest_busy = gpu.compute.busy_ns();
  for (const UtilisationSample& sample : gpu.samples) {
    const Nanos at = sample.at.load();
    if (at == 0 || at < now - kWindow || at >= oldest_at) continue;
    oldest_at = at;
    oldest_busy = sample.busy_ns.load();
  }
  if (oldest_at >= now) return 0;
  const double share = static_cast<double>(gpu.compute.busy_ns() - oldest_busy) /
                       static_cast<double>(now - oldest_at);
  return share >= 1 ? 100 : static_cast<unsigned>(share * 100 + 0.5);
}

}  // namespace nvs::sim
