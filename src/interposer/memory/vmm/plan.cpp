// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/plan.h"

namespace nvs::interposer::vmm {
namespace {

enum class Cost : std::uint8_t { nothing, copy };

constexpr std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

bool goes_out_at(const Chunk& chunk, Cost cost) {
  if (chunk.state != ChunkState::resident) return false;
  return chunk.clean == (cost == Cost::nothing);
}

bool comes_in_at(const Chunk& chunk, Cost cost) {
  if (!is_away(chunk.state)) return false;
  return (chunk.state == ChunkState::swapped) == (cost == Cost::copy);
}

class Planner {
 public:
  Planner(std::uint64_t wanted, Move* moves, std::uint32_t moves_max)
      : wanted_(wanted), moves_(moves), moves_max_(moves_max) {}

  bool is_done() const { return plan_.moves == moves_max_ || plan_.bytes >= wanted_; }
  std::uint64_t left() const { return less(wanted_, plan_.bytes); }
  const Plan& plan() const { return plan_; }

  void add(Region* region, std::uint32_t chunk) {
    const std::uint64_t bytes = region->split().bytes_of(chunk);
    moves_[plan_.moves++] = {region, chunk, bytes};
    plan_.bytes += bytes;
  }

  void add_leaving(Region* region, Cost cost) {
    for (std::uint32_t i = region->split().chunks; i-- > 0 && !is_done();) {
      if (goes_out_at(region->chunk(i), cost)) add(region, i);
    }
  }

  void add_coming(Region* region, Cost cost) {
    for (std::uint32_t i = 0; i < region->split().chunks && !is_done(); ++i) {
      if (comes_in_at(region->chunk(i), cost) && region->split().bytes_of(i) <= left()) {
        add(region, i);
      }
    }
  }

  // The last chunk may be larger than what was missing; then smaller ones before it may stay.
  void drop_needless(Cost cost) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < plan_.moves; ++i) {
      const Move move = moves_[i];
      const bool is_needless = move.bytes <= less(plan_.bytes, wanted_) &&
                               goes_out_at(move.region->chunk(move.chunk), cost);
      if (is_needless) {
        plan_.bytes -= move.bytes;
      } else {
        moves_[kept++] = move;
      }
    }
    plan_.moves = kept;
  }

 private:
  std::uint64_t wanted_;
  Move* moves_;
  std::uint32_t moves_max_;
  Plan plan_ = {};
};

}  // namespace

Need need_of(const Sums& sums, std::uint64_t unevictable, std::uint64_t allowed) {
  const std::uint64_t for_regions = less(allowed, unevictable);
  Need need;
  need.out = less(sums.resident + sums.coming, for_regions);
  const std::uint64_t room = less(for_regions, sums.on_device());
  need.in = room < sums.away() ? room : sums.away();
  return need;
}

Plan plan_out(const RegionTable& table, int device, std::uint64_t bytes, Move* moves,
              std::uint32_t moves_max) {
  Planner planner{bytes, moves, moves_max};
  for (Region* region = table.newest(device); region != nullptr && !planner.is_done();
       region = region->older()) {
    if (region->is_pinned()) continue;
    if (region->sums().clean != 0) planner.add_leaving(region, Cost::nothing);
    if (region->sums().resident != region->sums().clean) planner.add_leaving(region, Cost::copy);
  }
  planner.drop_needless(Cost::copy);
  planner.drop_needless(Cost::nothing);
  return planner.plan();
}

Plan plan_in(const RegionTable& table, int device, std::uint64_t bytes, Move* moves,
             std::uint32_t moves_max) {
  Planner planner{bytes, moves, moves_max};
  for (Region* region = table.oldest(device); region != nullptr && !planner.is_done();
       region = region->newer()) {
    if (region->sums().swapped != 0) planner.add_coming(region, Cost::copy);
    if (region->sums().away() != region->sums().swapped) planner.add_coming(region, Cost::nothing);
  }
  return planner.plan();
}

}  // namespace nvs::interposer::vmm
