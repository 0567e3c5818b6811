// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/managed_memory.h"

#include <algorithm>

#include <sys/mman.h>

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {
namespace {

void* managed_pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

std::uint64_t padded(const Driver& driver, std::uint64_t bytes) {
  const std::uint64_t block = driver.machine->managed_block_bytes();
  return (bytes + block - 1) / block * block;
}

// Blocks of the card modelled, at so many bytes a nanosecond.
double carrying_ns(const Driver& driver, std::uint64_t blocks, double rate) {
  const Machine& machine = *driver.machine;
  return static_cast<double>(blocks * machine.managed_block_bytes()) * machine.scale() / rate;
}

void send_home(Driver& driver, ManagedRange& range, Content content) {
  std::vector<BlockPlace*> places;
  for (ManagedBlock& block : range.blocks) places.push_back(&block.place);
  driver.machine->send_home(places, content);
}

// Calls f(blocks) for each managed allocation with bytes in the range.
template <class F>
void for_each_managed(Driver& driver, std::uint64_t begin, std::uint64_t size, F&& f) {
  if (size == 0) return;
  auto it = driver.managed.upper_bound(begin);
  if (it != driver.managed.begin()) --it;
  for (; it != driver.managed.end() && it->first < begin + size; ++it) {
    ManagedRange& range = it->second;
    const std::uint64_t first = std::max(begin, range.begin);
    const std::uint64_t last = std::min(begin + size, range.begin + range.size);
    if (first < last) f(blocks_in(driver, range, first, last - first));
  }
}

// Advice by which a GPU reaches a block over the bus instead of having it.
bool stays_away(const Driver& driver, unsigned gpu, const ManagedBlock& block) {
  if (driver.machine->is_on(gpu, block.place)) return false;
  if (block.preferred == kOnHost || block.gpus_that_map_it.test(gpu)) return true;
  if (block.preferred == kAnywhere || block.preferred == static_cast<int>(gpu)) return false;
  return driver.machine->is_on(static_cast<unsigned>(block.preferred), block.place);
}

}  // namespace

std::uint64_t allocate_managed(Driver& driver, const Context& context, std::uint64_t bytes) {
  if (bytes > std::uint64_t{1} << 46) return 0;
  const std::uint64_t size = padded(driver, bytes);
  const std::uint64_t unit = driver.machine->managed_block_bytes();
  const std::uint64_t begin = driver.space.reserve(size, unit, 0, true);
  if (begin == 0) return 0;
  if (::mprotect(managed_pointer(begin), size, PROT_READ | PROT_WRITE) != 0) {
    driver.space.release(begin, size);
    return 0;
  }
  ManagedRange range{.begin = begin, .size = bytes, .context = context.key, .blocks = {}};
  range.blocks.resize(size / unit);
  std::uint64_t name = driver.machine->name_blocks(range.blocks.size());
  for (ManagedBlock& block : range.blocks) block.place.name = name++;
  driver.managed.emplace(begin, std::move(range));
  driver.space.add_host({.begin = begin,
                         .size = bytes,
                         .registered = false,
                         .managed = true,
                         .context = context.key});
  return begin;
}

void free_managed(Driver& driver, std::uint64_t begin) {
  ManagedRange& range = driver.managed.at(begin);
  send_home(driver, range, Content::dropped);
  driver.space.remove_host(begin);
  driver.space.release(begin, padded(driver, range.size));
  driver.managed.erase(begin);
}

void abandon_managed(Driver& driver, const Context& context) {
  for (auto it = driver.managed.begin(); it != driver.managed.end();) {
    ManagedRange& range = it->second;
    if (range.context != context.key) {
      ++it;
      continue;
    }
    send_home(driver, range, Content::dropped);
    driver.space.remove_host(range.begin);
    ::madvise(managed_pointer(range.begin), padded(driver, range.size), MADV_DONTNEED);
    driver.space.retire(range.begin);
    it = driver.managed.erase(it);
  }
}

ManagedRange* managed_range(Driver& driver, std::uint64_t begin, std::uint64_t size) {
  auto it = driver.managed.upper_bound(begin);
  if (it == driver.managed.begin()) return nullptr;
  ManagedRange& range = std::prev(it)->second;
  const std::uint64_t inside = begin - range.begin;
  return inside < range.size && size <= range.size - inside ? &range : nullptr;
}

std::span<ManagedBlock> blocks_in(const Driver& driver, ManagedRange& range, std::uint64_t begin,
                                  std::uint64_t size) {
  const std::uint64_t unit = driver.machine->managed_block_bytes();
  const std::uint64_t first = (begin - range.begin) / unit;
  const std::uint64_t last = (begin - range.begin + size - 1) / unit;
  return std::span{range.blocks}.subspan(first, last - first + 1);
}

bool touches_managed(Driver& driver, std::uint64_t begin, std::uint64_t size) {
  bool found = false;
  for_each_managed(driver, begin, size, [&](std::span<ManagedBlock>) { found = true; });
  return found;
}

Nanos use_managed(Driver& driver, unsigned gpu, std::uint64_t begin, std::uint64_t size,
                  Access access) {
  std::vector<BlockTouch> touches;
  std::uint64_t away = 0;
  for_each_managed(driver, begin, size, [&](std::span<ManagedBlock> blocks) {
    for (ManagedBlock& block : blocks) {
      if (stays_away(driver, gpu, block)) {
        ++away;
      } else {
        touches.push_back({&block.place, block.read_mostly && access == Access::read});
      }
    }
  });
  if (touches.empty() && away == 0) return 0;
  const Migration moved = driver.machine->touch_blocks(gpu, touches);
  const Model& model = driver.machine->model();
  // Without room on the GPU each access is one over the bus.
  return driver.machine->dilate(
      carrying_ns(driver, moved.in, model.managed_fault_bytes_per_ns) +
      carrying_ns(driver, moved.out, model.managed_out_bytes_per_ns) +
      carrying_ns(driver, away + moved.left_out, model.copy_bytes_per_ns));
}

Prefetch prefetch_managed(Driver& driver, std::uint64_t begin, std::uint64_t size, int target) {
  std::vector<BlockTouch> touches;
  std::vector<BlockPlace*> places;
  for_each_managed(driver, begin, size, [&](std::span<ManagedBlock> blocks) {
    for (ManagedBlock& block : blocks) {
      block.last_prefetch = target;
      touches.push_back({&block.place, block.read_mostly});
      places.push_back(&block.place);
    }
  });
  Machine& machine = *driver.machine;
  const Model& model = machine.model();
  if (target == kOnHost) {
    const std::uint64_t carried = machine.send_home(places, Content::kept);
    return {carried * machine.managed_block_bytes(),
            carrying_ns(driver, carried, model.managed_out_bytes_per_ns)};
  }
  const Migration moved = machine.touch_blocks(static_cast<unsigned>(target), touches);
  return {moved.in * machine.managed_block_bytes(),
          carrying_ns(driver, moved.in, model.managed_prefetch_bytes_per_ns) +
              carrying_ns(driver, moved.out, model.managed_out_bytes_per_ns)};
}

}  // namespace nvs::sim
