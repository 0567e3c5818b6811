// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/region_table.h"

#include "interposer/memory/vmm/chunk_step.h"

namespace nvs::interposer::vmm {

bool RegionTable::is_taken(std::uint64_t base, std::uint64_t bytes) const {
  const Region* last = by_base_.floor(base + (bytes - 1));
  return last != nullptr && last->base() + (last->split_.bytes - 1) >= base;
}

Region* RegionTable::insert(const RegionFacts& facts) {
  Region* region = draft(facts);
  if (region != nullptr) publish(region);
  return region;
}

Region* RegionTable::draft(const RegionFacts& facts) {
  Split split;
  if (!is_device(facts.device) || facts.base == 0) return nullptr;
  if (!split_region(facts.bytes, facts.granularity, split)) return nullptr;
  if ((facts.base & (facts.granularity - 1)) != 0) return nullptr;
  if (split.bytes - 1 > UINT64_MAX - facts.base || is_taken(facts.base, split.bytes)) {
    return nullptr;
  }
  auto* region = pool_.make<Region>();
  if (region == nullptr) return nullptr;
  region->chunks_ = split.chunks == 1 ? &region->only_chunk_ : pool_.make<Chunk>(split.chunks);
  if (region->chunks_ == nullptr) {
    pool_.drop(region);
    return nullptr;
  }
  region->facts_ = facts;
  region->split_ = split;
  region->sums_.unbacked = split.bytes;
  return region;
}

void RegionTable::publish(Region* region) {
  region->is_draft_ = false;
  devices_[region->facts_.device].sums += region->sums_;
  by_base_.insert(region);
  link_as_newest(region);
  ++size_;
}

void RegionTable::discard(Region* region) {
  if (region->split_.chunks != 1) pool_.drop(region->chunks_, region->split_.chunks);
  pool_.drop(region);
}

bool RegionTable::remove(Region* region) {
  if (!region->is_over()) return false;
  by_base_.erase(region);
  unlink(region);
  discard(region);
  --size_;
  return true;
}

Outcome RegionTable::apply(Region* region, std::uint32_t number, const Happening& what) {
  if (number >= region->split_.chunks) return {};
  Chunk& chunk = region->chunks_[number];
  const Chunk before = chunk;
  const Outcome outcome = step(chunk, what);
  if (!outcome.fits) return outcome;
  const std::uint64_t bytes = region->split_.bytes_of(number);
  region->sums_.subtract(before, bytes);
  region->sums_.add(chunk, bytes);
  if (!region->is_draft_) {
    Sums& all = sums_of(*region);
    all.subtract(before, bytes);
    all.add(chunk, bytes);
  }
  if (chunk.state == ChunkState::gone) ++region->chunks_gone_;
  return outcome;
}

bool RegionTable::written(int device) {
  const Sums before = sums(device);
  if (before.leaving != 0) return false;
  if (before.clean == 0) return true;
  for (Region* region = newest(device); region != nullptr; region = region->older_) {
    for (std::uint32_t i = 0; region->sums_.clean != 0 && i < region->split_.chunks; ++i) {
      if (region->chunks_[i].clean) apply(region, i, {.event = ChunkEvent::written});
    }
  }
  return true;
}

bool RegionTable::pin(Region* region) {
  if (region->is_pinned_) return true;
  if (region->is_ending_ || region->sums_.resident != region->split_.bytes) return false;
  sums_of(*region) -= region->sums_;
  region->is_pinned_ = true;
  sums_of(*region) += region->sums_;
  return true;
}

Region* RegionTable::find(std::uint64_t address) const {
  Region* region = by_base_.floor(address);
  if (region == nullptr || region->is_ending_) return nullptr;
  return address - region->base() < region->split_.bytes ? region : nullptr;
}

void RegionTable::link_as_newest(Region* region) {
  Device& device = devices_[region->facts_.device];
  region->older_ = device.newest;
  (device.newest != nullptr ? device.newest->newer_ : device.oldest) = region;
  device.newest = region;
}

void RegionTable::unlink(Region* region) {
  Device& device = devices_[region->facts_.device];
  (region->older_ != nullptr ? region->older_->newer_ : device.oldest) = region->newer_;
  (region->newer_ != nullptr ? region->newer_->older_ : device.newest) = region->older_;
}

void RegionTable::forget() {
  pool_.forget();
  by_base_ = {};
  for (Device& device : devices_) device = {};
  size_ = 0;
}

}  // namespace nvs::interposer::vmm
