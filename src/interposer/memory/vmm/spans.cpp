// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/spans.h"

namespace nvs::interposer::vmm {

bool Spans::is_taken(std::uint64_t base, std::uint64_t bytes) const {
  const Span* last = spans_.floor(base + bytes - 1);
  return last != nullptr && last->base + (last->bytes - 1) >= base;
}

SpanGroup* Spans::group_of(const SpanOwner& owner) const {
  SpanGroup* group = groups_.ceiling(owner);
  return group != nullptr && group->owner == owner ? group : nullptr;
}

void Spans::leave_group(SpanGroup* group) {
  if (--group->usage.spans != 0) return;
  groups_.erase(group);
  pool_.drop(group);
}

bool Spans::add(const SpanOwner& owner, std::uint64_t base, std::uint64_t bytes,
                std::uint64_t tag) {
  const bool in_steps = ((base | bytes) & (step_ - 1)) == 0;
  if (base == 0 || bytes == 0 || !in_steps || bytes - 1 > UINT64_MAX - base) return false;
  if (is_taken(base, bytes)) return false;

  SpanGroup* known = group_of(owner);
  auto* group = known != nullptr ? known : pool_.make<SpanGroup>();
  auto* span = group != nullptr ? pool_.make<Span>() : nullptr;
  auto* piece = span != nullptr ? pool_.make<Piece>() : nullptr;
  if (piece == nullptr) {
    if (span != nullptr) pool_.drop(span);
    if (group != nullptr && known == nullptr) pool_.drop(group);
    return false;
  }
  if (known == nullptr) {
    group->owner = owner;
    groups_.insert(group);
  }
  ++group->usage.spans;
  group->usage.bytes_reserved += bytes;
  *span = {.base = base, .bytes = bytes, .tag = tag, .group = group, .first = piece};
  *piece = {.base = base, .bytes = bytes, .span = span};
  spans_.insert(span);
  free_.insert(piece);
  return true;
}

bool Spans::remove(std::uint64_t base, Remove which) {
  Span* span = spans_.ceiling(base);
  if (span == nullptr || span->base != base) return false;
  if (which == Remove::if_empty && !span->is_empty()) return false;
  SpanUsage& usage = span->group->usage;
  for (Piece* piece = span->first; piece != nullptr;) {
    Piece* next = piece->after;
    if (piece->asked != 0) {
      used_.erase(piece);
      --usage.pieces;
    } else {
      free_.erase(piece);
    }
    pool_.drop(piece);
    piece = next;
  }
  usage.bytes_used -= span->bytes_used;
  usage.bytes_reserved -= span->bytes;
  spans_.erase(span);
  leave_group(span->group);
  pool_.drop(span);
  return true;
}

const Piece* Spans::take(const SpanOwner& owner, std::uint64_t bytes, Took& took) {
  took = Took::bad_size;
  if (bytes == 0 || bytes > UINT64_MAX - (step_ - 1)) return nullptr;
  took = Took::no_room;
  const std::uint64_t rounded = (bytes + step_ - 1) & ~(step_ - 1);
  Piece* piece = free_.ceiling(FitKey{owner, rounded, 0});
  if (piece == nullptr || !(piece->span->group->owner == owner)) return nullptr;

  Piece* rest = nullptr;
  if (piece->bytes > rounded) {
    rest = pool_.make<Piece>();
    if (rest == nullptr) {
      took = Took::no_memory;
      return nullptr;
    }
  }
  free_.erase(piece);
  if (rest != nullptr) {
    *rest = {.base = piece->base + rounded,
             .bytes = piece->bytes - rounded,
             .span = piece->span,
             .before = piece,
             .after = piece->after};
    if (rest->after != nullptr) rest->after->before = rest;
    piece->after = rest;
    piece->bytes = rounded;
    free_.insert(rest);
  }
  piece->asked = bytes;
  used_.insert(piece);
  piece->span->bytes_used += rounded;
  piece->span->group->usage.bytes_used += rounded;
  ++piece->span->group->usage.pieces;
  took = Took::done;
  return piece;
}

// The piece after this one becomes part of it. Both are in no tree.
void Spans::swallow_next(Piece* piece) {
  Piece* next = piece->after;
  piece->bytes += next->bytes;
  piece->after = next->after;
  if (piece->after != nullptr) piece->after->before = piece;
  pool_.drop(next);
}

const Span* Spans::give(std::uint64_t base) {
  Piece* piece = used_.ceiling(base);
  if (piece == nullptr || piece->base != base) return nullptr;
  Span* span = piece->span;
  used_.erase(piece);
  piece->asked = 0;
  span->bytes_used -= piece->bytes;
  span->group->usage.bytes_used -= piece->bytes;
  --span->group->usage.pieces;

  if (piece->before != nullptr && piece->before->asked == 0) {
    piece = piece->before;
    free_.erase(piece);
    swallow_next(piece);
  }
  if (piece->after != nullptr && piece->after->asked == 0) {
    free_.erase(piece->after);
    swallow_next(piece);
  }
  free_.insert(piece);
  return span;
}

const Piece* Spans::find(std::uint64_t address) const {
  const Piece* piece = used_.floor(address);
  return piece != nullptr && address - piece->base < piece->bytes ? piece : nullptr;
}

const Span* Spans::find_span(std::uint64_t address) const {
  const Span* span = spans_.floor(address);
  return span != nullptr && address - span->base < span->bytes ? span : nullptr;
}

SpanUsage Spans::usage(const SpanOwner& owner) const {
  const SpanGroup* group = group_of(owner);
  return group != nullptr ? group->usage : SpanUsage{};
}

void Spans::forget() {
  pool_.forget();
  used_ = {};
  free_ = {};
  spans_ = {};
  groups_ = {};
}

}  // namespace nvs::interposer::vmm
