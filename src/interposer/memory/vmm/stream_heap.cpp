// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/stream_heap.h"

namespace nvs::interposer::vmm {
namespace {

// Of a block, this part may be more than was asked for.
constexpr std::uint64_t kWastedPart = 8;

template <class Node>
void unlink(Node** first, const Node* node) {
  for (Node** link = first; *link != nullptr; link = &(*link)->next) {
    if (*link != node) continue;
    *link = node->next;
    return;
  }
}

}  // namespace

void HeapList::append(HeapBlock* block) {
  block->before = last;
  block->after = nullptr;
  (last != nullptr ? last->after : first) = block;
  last = block;
}

void HeapList::erase(HeapBlock* block) {
  (block->before != nullptr ? block->before->after : first) = block->after;
  (block->after != nullptr ? block->after->before : last) = block->before;
  block->before = block->after = nullptr;
}

// Whatever happens to a pool happens in here, so that the number of those above their threshold is
// right at any time.
template <class Change>
void StreamHeap::change(HeapPool* pool, Change what) {
  above_ -= pool->is_above() ? 1U : 0U;
  what();
  if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
  if (pool->used > pool->used_high) pool->used_high = pool->used;
  above_ += pool->is_above() ? 1U : 0U;
}

StreamHeap::FitKey StreamHeap::key_of(const HeapBlock& block) {
  return {block.pool->number, block.owner.context,
          block.stream != nullptr ? block.stream->number : 0, block.bytes, block.base};
}

HeapPool* StreamHeap::add_pool(std::uint64_t handle, int device, std::uint64_t threshold) {
  auto* pool = memory_.make<HeapPool>();
  if (pool == nullptr) return nullptr;
  pool->handle = handle;
  pool->number = ++numbers_;
  pool->device = device;
  pool->threshold = threshold;
  pool->next = nobodys_.next;
  nobodys_.next = pool;
  return pool;
}

HeapPool* StreamHeap::find_pool(std::uint64_t handle) const {
  HeapPool* pool = nobodys_.next;
  while (pool != nullptr && pool->handle != handle) pool = pool->next;
  return pool;
}

void StreamHeap::set_threshold(HeapPool* pool, std::uint64_t bytes) {
  change(pool, [&] { pool->threshold = bytes; });
}

void StreamHeap::remove_pool(HeapPool* pool) {
  by_base_.erase_if([&](const Place& place) {
    if (place.block->pool == pool) give_to_nobody(place.block);
    return false;
  });
  unlink(&nobodys_.next, pool);
  memory_.drop(pool);
}

HeapStream* StreamHeap::add_stream(const StreamKey& key, const SpanOwner& owner) {
  auto* stream = memory_.make<HeapStream>();
  if (stream == nullptr) return nullptr;
  stream->key = key;
  stream->owner = owner;
  stream->number = ++numbers_;
  stream->next = streams_;
  streams_ = stream;
  by_key_.insert(stream);
  return stream;
}

HeapStream* StreamHeap::find_stream(const StreamKey& key) const {
  HeapStream* stream = by_key_.ceiling(key);
  return stream != nullptr && stream->key == key ? stream : nullptr;
}

void StreamHeap::stream_is_gone(HeapStream* stream) {
  if (stream->is_gone) return;
  by_key_.erase(stream);
  stream->is_gone = true;
}

void StreamHeap::remove_stream(HeapStream* stream) {
  stream_is_gone(stream);
  unlink(&streams_, stream);
  memory_.drop(stream);
}

HeapBlock* StreamHeap::add(std::uint64_t base, std::uint64_t bytes, std::uint64_t asked,
                           const SpanOwner& owner, HeapPool* pool) {
  auto* block = memory_.make<HeapBlock>();
  if (block == nullptr) return nullptr;
  if (by_base_.insert({base, block}, map_) == nullptr) {
    memory_.drop(block);
    return nullptr;
  }
  block->base = base;
  block->bytes = bytes;
  block->asked = asked;
  block->owner = owner;
  block->pool = pool != nullptr ? pool : &nobodys_;
  change(block->pool, [&] {
    block->pool->reserved += bytes;
    block->pool->used += bytes;
  });
  return block;
}

HeapBlock* StreamHeap::find(std::uint64_t base) const {
  const Place* place = by_base_.find({base, nullptr});
  return place != nullptr ? place->block : nullptr;
}

HeapBlock* StreamHeap::fitting(FitKey key, std::uint64_t bytes) const {
  HeapBlock* block = idle_.ceiling(key);
  if (block == nullptr) return nullptr;
  const FitKey found = key_of(*block);
  const bool is_same =
      found.pool == key.pool && found.context == key.context && found.stream == key.stream;
  return is_same && block->bytes - bytes <= block->bytes / kWastedPart ? block : nullptr;
}

HeapBlock* StreamHeap::take(HeapPool* pool, std::uint64_t context, const HeapStream* stream,
                            std::uint64_t bytes) {
  HeapBlock* block = nullptr;
  if (stream != nullptr) {
    block = fitting({pool->number, context, stream->number, bytes, 0}, bytes);
  }
  if (block == nullptr) block = fitting({pool->number, context, 0, bytes, 0}, bytes);
  if (block == nullptr) return nullptr;
  change(pool, [&] {
    leave_idle(block);
    pool->used += block->bytes;
  });
  block->state = BlockState::used;
  block->asked = bytes;
  return block;
}

void StreamHeap::begin_free(HeapBlock* block) {
  block->state = BlockState::going;
  change(block->pool, [&] { block->pool->used -= block->bytes; });
}

void StreamHeap::cancel_free(HeapBlock* block) {
  block->state = BlockState::used;
  change(block->pool, [&] { block->pool->used += block->bytes; });
}

void StreamHeap::end_free(HeapBlock* block, HeapStream* stream, std::uint64_t mark) {
  block->state = BlockState::idle;
  change(block->pool, [&] { make_idle(block, stream, mark); });
}

void StreamHeap::make_idle(HeapBlock* block, HeapStream* stream, std::uint64_t mark) {
  block->stream = stream;
  block->mark = mark;
  if (stream != nullptr) {
    stream->waiting.append(block);
    ++block->pool->waiting;
  } else {
    block->pool->free.append(block);
  }
  idle_.insert(block);
}

void StreamHeap::leave_idle(HeapBlock* block) {
  idle_.erase(block);
  if (block->stream != nullptr) {
    block->stream->waiting.erase(block);
    --block->pool->waiting;
  } else {
    block->pool->free.erase(block);
  }
  block->stream = nullptr;
}

void StreamHeap::give_to_nobody(HeapBlock* block) {
  HeapStream* stream = block->stream;
  const bool is_idle = block->state == BlockState::idle;
  const std::uint64_t used = block->state == BlockState::used ? block->bytes : 0;
  HeapPool* from = block->pool;
  change(from, [&] {
    if (is_idle) leave_idle(block);
    from->reserved -= block->bytes;
    from->used -= used;
  });
  block->pool = &nobodys_;
  change(&nobodys_, [&] {
    nobodys_.reserved += block->bytes;
    nobodys_.used += used;
    if (is_idle) make_idle(block, stream, block->mark);
  });
}

// Two threads that free at once may end in another order than they began: a block of a number that
// was passed may stand behind one that was not, and then waits a little longer.
void StreamHeap::passed(HeapStream* stream, std::uint64_t mark) {
  while (stream->waiting.first != nullptr && stream->waiting.first->mark <= mark) {
    HeapBlock* block = stream->waiting.first;
    change(block->pool, [&] {
      leave_idle(block);
      make_idle(block, nullptr, 0);
    });
  }
}

void StreamHeap::remove(HeapBlock* block) {
  by_base_.erase(by_base_.find({block->base, nullptr}));
  drop(block);
}

void StreamHeap::drop(HeapBlock* block) {
  change(block->pool, [&] {
    if (block->state == BlockState::idle) leave_idle(block);
    if (block->state == BlockState::used) block->pool->used -= block->bytes;
    block->pool->reserved -= block->bytes;
  });
  memory_.drop(block);
}

void StreamHeap::context_ended(std::uint64_t context) {
  for (HeapStream* stream = streams_; stream != nullptr;) {
    HeapStream* next = stream->next;
    if (stream->owner.context == context) {
      passed(stream, UINT64_MAX);
      stream_is_gone(stream);
      // Somebody who records just now looks at it once more.
      stream->owner.context = 0;
      stream->is_ending = false;
      for (std::uint64_t& event : stream->events) event = 0;
      if (stream->is_empty()) remove_stream(stream);
    }
    stream = next;
  }
  by_base_.erase_if([&](const Place& place) {
    const bool is_of_it = place.block->owner.context == context;
    if (is_of_it) drop(place.block);
    return is_of_it;
  });
}

void StreamHeap::forget() { *this = StreamHeap{map_}; }

}  // namespace nvs::interposer::vmm
