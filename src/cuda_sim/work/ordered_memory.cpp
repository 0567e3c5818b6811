// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/ordered_memory.h"

#include <string>
#include <utility>

#include "cuda_sim/objects/plain_memory.h"
#include "cuda_sim/work/submit.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kPage = 4096;

void report_users(Driver& driver, const char* call, std::uint64_t begin, std::uint64_t size) {
  for (const auto& [value, context] : driver.contexts.all()) {
    if (context->destroyed || context->sticky != CUDA_SUCCESS) continue;
    if (const char* user = context->engine->coming_user_of(begin, size); user != nullptr) {
      driver.machine->record_violation(std::string(call) + " of memory that " + user +
                                       " in flight still uses");
    }
  }
}

// What was behind the addresses stays with the pool.
void drop_addresses(Driver& driver, std::uint64_t begin) {
  driver.space.unmap(begin);
  driver.space.retire(begin);
}

class AllocationOp final : public Op {
 public:
  AllocationOp(PoolPlace place, std::uint64_t bytes)
      : Op(Lane::none), place_(std::move(place)), bytes_(bytes) {}
  void take_effect() override { place_.physical->forget(place_.offset, bytes_); }
  void let_go() override { place_ = {}; }
  const char* name() const override { return "an allocation"; }

 private:
  PoolPlace place_;
  const std::uint64_t bytes_;
};

class FreeOp final : public Op {
 public:
  FreeOp(Driver& driver, std::uint64_t begin) : Op(Lane::none), driver_(driver), begin_(begin) {}
  void take_effect() override {
    const Mapping* mapping = driver_.space.find(begin_);
    if (mapping == nullptr || mapping->begin != begin_) return;  // its context took it along
    report_users(driver_, "cuMemFreeAsync", begin_, mapping->size);
    if (mapping->kind == MemoryKind::pool) {
      drop_addresses(driver_, begin_);
    } else {
      free_plain(driver_, begin_);
    }
  }
  const char* name() const override { return "a free"; }

 private:
  Driver& driver_;
  const std::uint64_t begin_;
};

}  // namespace

OrderedMemory allocate_ordered(Driver& driver, const std::shared_ptr<MemoryPool>& pool,
                               std::uint64_t bytes, Stream& stream) {
  auto place = pool->take(driver, bytes, {stream.id, predecessors(stream)});
  if (!place) return {};
  const std::uint64_t addresses = (bytes + kPage - 1) / kPage * kPage;
  Mapping mapping;
  mapping.begin = driver.space.reserve(addresses, kPage, 0, true);
  if (mapping.begin == 0) {
    pool->give_back(*place->physical, place->offset, bytes, {});
    return {};
  }
  mapping.size = bytes;
  mapping.kind = MemoryKind::pool;
  mapping.physical = place->physical;
  mapping.offset = place->offset;
  mapping.access = pool->access;
  mapping.access[pool->gpu()] = Access::read_write;
  mapping.pool = pool;
  const OrderedMemory made{driver.space.map(std::move(mapping)).begin, place->grew};
  std::vector<OpPtr> after = place->after;
  enqueue(stream, std::make_shared<AllocationOp>(std::move(*place), bytes), std::move(after));
  return made;
}

void free_ordered(Driver& driver, Mapping& mapping, Stream& stream) {
  const auto op = std::make_shared<FreeOp>(driver, mapping.begin);
  mapping.being_freed = true;
  // Before the op, which may take effect at once: then the mapping is gone.
  if (mapping.kind == MemoryKind::pool) {
    mapping.pool->give_back(*mapping.physical, mapping.offset, mapping.size, {op, stream.id});
  }
  enqueue(stream, op);
}

CUresult free_ordered(Driver& driver, std::uint64_t address) {
  const Mapping& mapping = *driver.space.find(address);
  report_users(driver, "cuMemFree", address, mapping.size);
  mapping.pool->give_back(*mapping.physical, mapping.offset, mapping.size, {});
  drop_addresses(driver, address);
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim
