// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/host_room.h"

namespace nvs::interposer::vmm {

bool HostRoom::add(std::uint64_t id, std::uint64_t bytes, std::uint64_t mapped_at,
                   std::uint64_t number) {
  if (id == 0 || mapped_at == 0 || find(id) != nullptr) return false;
  if (bytes == 0 || bytes / kHostStep > UINT32_MAX || bytes > UINT64_MAX - mapped_at) return false;
  if (bytes > UINT64_MAX - line_end_) return false;
  auto* segment = pool_.make<HostSegment>();
  if (segment == nullptr) return false;
  if (!spans_.add({}, line_end_, bytes, id)) {  // refuses what is not in steps
    pool_.drop(segment);
    return false;
  }
  segment->id = id;
  segment->number = number;
  segment->bytes = bytes;
  segment->mapped_at = mapped_at;
  segment->line_base = line_end_;
  segments_.insert(segment);
  line_end_ += bytes;
  return true;
}

bool HostRoom::remove(std::uint64_t id) {
  HostSegment* gone = segment(id);
  if (gone == nullptr || !spans_.remove(gone->line_base, Spans::Remove::if_empty)) return false;
  segments_.erase(gone);
  pool_.drop(gone);
  return true;
}

void HostRoom::forget_numbers() {
  for (HostSegment* one = segments_.after(std::uint64_t{0}); one != nullptr;
       one = segments_.after(one->id)) {
    one->number = 0;
  }
}

HostPlace HostRoom::take(std::uint64_t bytes, Took& took) {
  took = Took::bad_size;
  if (bytes > kChunkBytes) return {};
  const Piece* piece = spans_.take({}, bytes, took);
  if (piece == nullptr) return {};
  const std::uint64_t offset = piece->base - piece->span->base;
  return {piece->span->tag, static_cast<std::uint32_t>(offset / kHostStep)};
}

bool HostRoom::give(const HostPlace& place) {
  const Piece* piece = piece_of(place);
  return piece != nullptr && spans_.give(piece->base) != nullptr;
}

std::uint64_t HostRoom::address_of(const HostPlace& place) const {
  if (piece_of(place) == nullptr) return 0;
  return segment(place.segment)->mapped_at + place.step * kHostStep;
}

HostSegment* HostRoom::segment(std::uint64_t id) const {
  HostSegment* found = segments_.ceiling(id);
  return found != nullptr && found->id == id ? found : nullptr;
}

const HostSegment* HostRoom::find(std::uint64_t id) const { return segment(id); }

const Piece* HostRoom::piece_of(const HostPlace& place) const {
  const HostSegment* held_by = segment(place.segment);
  if (held_by == nullptr || place.step >= held_by->bytes / kHostStep) return nullptr;
  const std::uint64_t base = held_by->line_base + place.step * kHostStep;
  const Piece* piece = spans_.find(base);
  return piece != nullptr && piece->base == base ? piece : nullptr;
}

const HostSegment* HostRoom::next_empty(std::uint64_t id) const {
  const HostSegment* next = segments_.after(id);
  while (next != nullptr && !spans_.find_span(next->line_base)->is_empty()) {
    next = segments_.after(next->id);
  }
  return next;
}

void HostRoom::forget() {
  pool_.forget();
  spans_.forget();
  segments_ = {};
  line_end_ = kLineStart;
}

}  // namespace nvs::interposer::vmm
