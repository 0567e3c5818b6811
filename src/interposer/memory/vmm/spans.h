// SPDX-License-Identifier: Apache-2.0
// Hands out pieces of spans of addresses: small allocations in arenas, chunks' places in segments
// of host memory. A piece is the smallest free one that is large enough, the lowest of those; free
// neighbours are one piece, so that nothing is lost to the past. The books are outside of the
// memory that is handed out. Not thread-safe: the caller holds a lock.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/page_pool.h"
#include "interposer/memory/vmm/tree.h"

namespace nvs::interposer::vmm {

// Whose a span is: pieces are taken from an owner's own spans only.
struct SpanOwner {
  std::uint64_t context = 0;
  int device = 0;

  friend constexpr bool operator==(const SpanOwner&, const SpanOwner&) = default;
};
constexpr bool operator<(const SpanOwner& a, const SpanOwner& b) {
  return a.context != b.context ? a.context < b.context : a.device < b.device;
}

struct SpanUsage {
  std::uint64_t bytes_reserved = 0;  // of all spans
  std::uint64_t bytes_used = 0;      // of the pieces handed out, in whole steps
  std::uint64_t pieces = 0;          // that are handed out
  std::uint32_t spans = 0;
};

struct SpanGroup {  // an owner that has spans
  SpanOwner owner = {};
  SpanUsage usage = {};
  TreeLinks<SpanGroup> links = {};
};

struct Span {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;  // the caller's
  std::uint64_t bytes_used = 0;
  SpanGroup* group = nullptr;
  struct Piece* first = nullptr;
  TreeLinks<Span> links = {};

  bool is_empty() const { return bytes_used == 0; }
};

struct Piece {  // of a span; together they cover it
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t asked = 0;  // 0: it is free
  Span* span = nullptr;
  Piece* before = nullptr;
  Piece* after = nullptr;
  TreeLinks<Piece> links = {};  // in the tree of the used or of the free ones
};

enum class Took : std::uint8_t {
  done,
  bad_size,   // no piece can have it
  no_room,    // none of the owner's spans has so much in one piece
  no_memory,  // for the books
};

class Spans {
 public:
  // Pieces are whole steps, and so are spans. A step is a power of two.
  constexpr Spans(std::uint64_t step, MapPages map) : step_(step), pool_(map) {}

  // False if this is no span, reaches into another one, or there is no memory to write it down.
  bool add(const SpanOwner& owner, std::uint64_t base, std::uint64_t bytes, std::uint64_t tag);
  enum class Remove : std::uint8_t { if_empty, with_all_pieces };
  bool remove(std::uint64_t base, Remove which);

  // The piece, until it is given back; null with the reason why not.
  const Piece* take(const SpanOwner& owner, std::uint64_t bytes, Took& took);
  // The span that it was part of; null if no piece that is handed out begins there. It needs no
  // memory, so it cannot fail otherwise.
  const Span* give(std::uint64_t base);

  // The piece that is handed out and has this address in its steps; null if there is none.
  const Piece* find(std::uint64_t address) const;
  // The span with this address in it.
  const Span* find_span(std::uint64_t address) const;
  // All spans by their addresses: the first one that begins above `base`. None begins at 0.
  const Span* next_span(std::uint64_t base) const { return spans_.after(base); }
  SpanUsage usage(const SpanOwner& owner) const;
  // Of our own memory: 0 when there are no spans.
  std::size_t bytes_of_books() const { return pool_.bytes_taken(); }

  // For the child of a fork.
  void forget();

 private:
  struct ByBase {
    static std::uint64_t key(const Piece& piece) { return piece.base; }
    static std::uint64_t key(const Span& span) { return span.base; }
  };
  struct FitKey {
    SpanOwner owner;
    std::uint64_t bytes;
    std::uint64_t base;
    friend constexpr bool operator<(const FitKey& a, const FitKey& b) {
      if (!(a.owner == b.owner)) return a.owner < b.owner;
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.base < b.base;
    }
  };
  struct ByFit {
    static FitKey key(const Piece& piece) {
      return {piece.span->group->owner, piece.bytes, piece.base};
    }
  };
  struct ByOwner {
    static SpanOwner key(const SpanGroup& group) { return group.owner; }
  };

  bool is_taken(std::uint64_t base, std::uint64_t bytes) const;
  SpanGroup* group_of(const SpanOwner& owner) const;
  void leave_group(SpanGroup* group);
  void swallow_next(Piece* piece);

  std::uint64_t step_;
  PagePool pool_;
  Tree<Piece, ByBase> used_ = {};
  Tree<Piece, ByFit> free_ = {};
  Tree<Span, ByBase> spans_ = {};
  Tree<SpanGroup, ByOwner> groups_ = {};
};

}  // namespace nvs::interposer::vmm
