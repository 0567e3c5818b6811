// SPDX-License-Identifier: Apache-2.0
// Memory that programs allocate and free in the order of streams. A block that was freed serves the
// next allocation in the same stream at once, and any other when the stream is known to have got
// past the free. Blocks belong to pools, as programs see them; whose pool is gone, nobody gets
// again. Where blocks come from and go to, and how far streams are, the caller knows. Not
// thread-safe: the caller holds a lock.
#pragma once

#include <cstdint>

#include "interposer/memory/slot_table.h"
#include "interposer/memory/vmm/page_pool.h"
#include "interposer/memory/vmm/spans.h"
#include "interposer/memory/vmm/stream_marks.h"
#include "interposer/memory/vmm/tree.h"
#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

enum class BlockState : std::uint8_t {
  used,   // a program has it
  going,  // its free is being recorded
  idle,
};

struct HeapBlock {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;  // that it has
  std::uint64_t asked = 0;  // of them, by whoever has it
  SpanOwner owner = {};
  BlockState state = BlockState::used;
  struct HeapPool* pool = nullptr;
  struct HeapStream* stream = nullptr;  // idle: that has yet to get past the free; null: none
  std::uint64_t mark = 0;               // and the number of it there
  HeapBlock* before = nullptr;          // idle: of the same stream, or of none in the same pool
  HeapBlock* after = nullptr;
  TreeLinks<HeapBlock> links = {};  // idle: among those that an allocation chooses from
};

struct HeapList {
  HeapBlock* first = nullptr;  // was freed first
  HeapBlock* last = nullptr;

  void append(HeapBlock* block);
  void erase(HeapBlock* block);
};

struct HeapPool {
  std::uint64_t handle = 0;  // 0: nobody's
  std::uint64_t number = 0;
  int device = 0;
  std::uint64_t threshold = 0;  // what it may keep
  std::uint64_t maximum = 0;    // what it may have; 0: as much as there is
  std::uint64_t reserved = 0;   // bytes of all blocks
  std::uint64_t reserved_high = 0;
  std::uint64_t used = 0;  // of those that programs have
  std::uint64_t used_high = 0;
  std::uint64_t waiting = 0;  // idle blocks that a stream has yet to get past
  HeapList free = {};         // idle blocks of no stream
  HeapPool* next = nullptr;

  bool has_space_for(std::uint64_t bytes) const {
    return maximum == 0 || (bytes <= maximum && reserved <= maximum - bytes);
  }
  // There is something to give back, now or soon.
  bool is_above() const { return reserved > threshold && (waiting != 0 || free.first != nullptr); }
};

// A handle names one stream in the process, but for those that every context has.
struct StreamKey {
  std::uint64_t stream = 0;
  std::uint64_t context = 0;

  friend constexpr bool operator==(const StreamKey&, const StreamKey&) = default;
  friend constexpr bool operator<(const StreamKey& a, const StreamKey& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.context < b.context;
  }
};

struct HeapStream {
  StreamKey key = {};
  SpanOwner owner = {};
  std::uint64_t made_in = 0;  // the context of its events, which may be a green one of its owner's
  std::uint64_t number = 0;   // no other stream ever has it
  bool is_gone = false;       // nobody names it any more
  bool is_ending = false;     // its context may be about to end: its events are left alone
  StreamMarks marks = {};
  std::uint64_t events[StreamMarks::kMarksMax] = {};
  HeapList waiting = {};  // idle blocks, by mark
  HeapStream* next = nullptr;
  TreeLinks<HeapStream> links = {};

  bool is_empty() const { return waiting.first == nullptr && !marks.is_being_recorded(); }
};

class StreamHeap {
 public:
  explicit constexpr StreamHeap(MapPages map = &os::map_pages) : map_(map), memory_(map) {}

  // Null, here and below: there is none, or no memory to write it down.
  HeapPool* add_pool(std::uint64_t handle, int device, std::uint64_t threshold);
  HeapPool* find_pool(std::uint64_t handle) const;
  void set_threshold(HeapPool* pool, std::uint64_t bytes);
  // What it has is nobody's from now on.
  void remove_pool(HeapPool* pool);
  // All of them, first that of nobody's blocks; go on with next.
  HeapPool* pools() { return &nobodys_; }

  HeapStream* add_stream(const StreamKey& key, const SpanOwner& owner);
  HeapStream* find_stream(const StreamKey& key) const;
  // Its handle may soon name another one. What waits for it goes on waiting.
  void stream_is_gone(HeapStream* stream);
  // One that is empty.
  void remove_stream(HeapStream* stream);
  // All of them, in no order.
  HeapStream* streams() const { return streams_; }

  // A block that a program has. `pool` null: nobody's.
  HeapBlock* add(std::uint64_t base, std::uint64_t bytes, std::uint64_t asked,
                 const SpanOwner& owner, HeapPool* pool);
  HeapBlock* find(std::uint64_t base) const;
  // The smallest idle block that is large enough and not much too large: one of the stream, or one
  // that waits for none.
  HeapBlock* take(HeapPool* pool, std::uint64_t context, const HeapStream* stream,
                  std::uint64_t bytes);

  // used, going, idle, and back if the free could not be recorded.
  void begin_free(HeapBlock* block);
  void end_free(HeapBlock* block, HeapStream* stream, std::uint64_t mark);
  void cancel_free(HeapBlock* block);
  // Whoever gets it in the end, it is no program.
  void give_to_nobody(HeapBlock* block);
  // The stream is past all frees up to this one.
  void passed(HeapStream* stream, std::uint64_t mark);
  // A block goes back to where it came from.
  void remove(HeapBlock* block);

  // The context is gone, with its blocks and streams; its events must not be named any more.
  void context_ended(std::uint64_t context);

  // How many pools have something to give back.
  std::uint32_t pools_above() const { return above_; }
  std::size_t size() const { return by_base_.size(); }
  std::size_t bytes_of_books() const { return memory_.bytes_taken(); }
  void forget();

 private:
  struct FitKey {
    std::uint64_t pool;
    std::uint64_t context;
    std::uint64_t stream;
    std::uint64_t bytes;
    std::uint64_t base;
    friend constexpr bool operator<(const FitKey& a, const FitKey& b) {
      if (a.pool != b.pool) return a.pool < b.pool;
      if (a.context != b.context) return a.context < b.context;
      if (a.stream != b.stream) return a.stream < b.stream;
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.base < b.base;
    }
  };
  static FitKey key_of(const HeapBlock& block);
  struct ByFit {
    static FitKey key(const HeapBlock& block) { return key_of(block); }
  };
  struct ByKey {
    static StreamKey key(const HeapStream& stream) { return stream.key; }
  };
  struct Place {  // of a block
    std::uint64_t base = 0;
    HeapBlock* block = nullptr;
    bool used() const { return block != nullptr; }
    std::uint64_t hash() const { return memory::spread(base); }
    bool same_key(const Place& other) const { return base == other.base; }
  };

  HeapBlock* fitting(FitKey key, std::uint64_t bytes) const;
  void make_idle(HeapBlock* block, HeapStream* stream, std::uint64_t mark);
  void leave_idle(HeapBlock* block);
  void drop(HeapBlock* block);
  template <class Change>
  void change(HeapPool* pool, Change what);

  MapPages map_;
  PagePool memory_;
  memory::SlotTable<Place> by_base_ = {};
  Tree<HeapBlock, ByFit> idle_ = {};
  Tree<HeapStream, ByKey> by_key_ = {};
  HeapStream* streams_ = nullptr;
  HeapPool nobodys_ = {};
  std::uint64_t numbers_ = 0;
  std::uint32_t above_ = 0;
};

}  // namespace nvs::interposer::vmm
