// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/memory_pool.h"

#include <algorithm>

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kUnit = 512;
constexpr std::uint64_t kSegment = 32ULL << 20;  // of the card modelled

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::uint64_t MemoryPool::padded(std::uint64_t bytes) { return round_up(bytes, kUnit); }

bool MemoryPool::Segment::idle(Nanos now) const {
  if (gaps.size() != 1 || gaps.begin()->second.size != physical->bytes()) return false;
  const auto& frees = gaps.begin()->second.frees;
  return std::all_of(frees.begin(), frees.end(),
                     [now](const PoolFree& free) { return !free.op || free.op->finished(now); });
}

std::optional<PoolPlace> MemoryPool::take(Driver& driver, std::uint64_t bytes,
                                          const PoolUser& user) {
  if (bytes > driver.machine->capacity()) return std::nullopt;
  bytes = padded(bytes);
  auto place = take_gap(bytes, user, Order::kept);
  if (!place && grow(driver, bytes)) {
    place = take_gap(bytes, user, Order::kept);
    place->grew = true;
  }
  if (!place && reuse.internal_waiting != 0) place = take_gap(bytes, user, Order::waiting);
  if (!place) return std::nullopt;
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  return place;
}

std::optional<PoolPlace> MemoryPool::take_gap(std::uint64_t bytes, const PoolUser& user,
                                              Order order) {
  for (const auto& segment : segments_) {
    for (auto gap = segment->gaps.begin(); gap != segment->gaps.end(); ++gap) {
      if (gap->second.size < bytes || !may_use(gap->second, user, order)) continue;
      return cut(*segment, gap, bytes);
    }
  }
  return std::nullopt;
}

bool MemoryPool::may_use(const Gap& gap, const PoolUser& user, Order order) const {
  return std::all_of(gap.frees.begin(), gap.frees.end(), [&](const PoolFree& free) {
    if (!free.op || free.stream == user.stream || order == Order::waiting) return true;
    if (reuse.opportunistic != 0 && free.op->done()) return true;
    return reuse.follow_events != 0 && Engine::orders(free.op, user.before);
  });
}

PoolPlace MemoryPool::cut(Segment& segment, std::map<std::uint64_t, Gap>::iterator gap,
                          std::uint64_t bytes) {
  PoolPlace place;
  place.physical = segment.physical;
  place.offset = gap->first;
  for (const PoolFree& free : gap->second.frees) place.after.push_back(free.op);
  Gap rest = std::move(gap->second);
  segment.gaps.erase(gap);
  rest.size -= bytes;
  if (rest.size != 0) segment.gaps.emplace(place.offset + bytes, std::move(rest));
  return place;
}

bool MemoryPool::grow(Driver& driver, std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes, kSegment / driver.machine->scale());
  Arena* arena = driver.arena(gpu_);
  const auto make = [&]() -> std::shared_ptr<Physical> {
    if (bytes_max_ != 0 && (size > bytes_max_ || reserved_ > bytes_max_ - size)) return nullptr;
    return Physical::create(*driver.machine, *arena, gpu_, size, Exportable::no);
  };
  if (arena == nullptr) return false;
  auto physical = make();
  if (!physical) {  // segments that are too small for this one may stand in its way
    trim_to(0);
    physical = make();
  }
  if (!physical) return false;
  auto segment = std::make_unique<Segment>();
  segment->physical = std::move(physical);
  segment->gaps[0].size = size;
  segments_.push_back(std::move(segment));
  reserved_ += size;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

void MemoryPool::give_back(const Physical& physical, std::uint64_t offset, std::uint64_t bytes,
                           const PoolFree& free) {
  bytes = padded(bytes);
  const auto segment = std::find_if(
      segments_.begin(), segments_.end(),
      [&](const std::unique_ptr<Segment>& one) { return one->physical.get() == &physical; });
  auto& gaps = (*segment)->gaps;
  auto gap = gaps.emplace(offset, Gap{bytes, {free}}).first;
  const auto merge = [&](auto first, auto second) {
    if (first->first + first->second.size != second->first) return;
    first->second.size += second->second.size;
    auto& frees = first->second.frees;
    frees.insert(frees.end(), second->second.frees.begin(), second->second.frees.end());
    std::erase_if(
        frees, [now = now_ns()](const PoolFree& one) { return !one.op || one.op->finished(now); });
    gaps.erase(second);
  };
  if (const auto next = std::next(gap); next != gaps.end()) merge(gap, next);
  if (gap != gaps.begin()) merge(std::prev(gap), gap);
  used_ -= bytes;
}

void MemoryPool::trim_to(std::uint64_t keep) {
  const Nanos now = now_ns();
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& segment) {
    if (reserved_ <= keep || reserved_ - keep < segment->physical->bytes()) return false;
    if (!segment->idle(now)) return false;
    reserved_ -= segment->physical->bytes();
    return true;
  });
}

MemoryPool& default_pool(Driver& driver, unsigned gpu) {
  auto& pool = driver.default_pools[gpu];
  if (!pool) {
    pool = std::make_shared<MemoryPool>(gpu, 0);
    pool->handle = driver.pools.add(pool);
  }
  return *pool;
}

const std::shared_ptr<MemoryPool>& current_pool(Driver& driver, unsigned gpu) {
  default_pool(driver, gpu);
  auto& pool = driver.current_pools[gpu];
  return pool ? pool : driver.default_pools[gpu];
}

void trim_pools(Driver& driver) {
  for (const auto& [value, pool] : driver.pools.all()) {
    if (pool->reserved() > pool->release_threshold) pool->trim_to(pool->release_threshold);
  }
}

}  // namespace nvs::sim
