// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/chunk_step.h"

#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kHandle = 7;
constexpr HostPlace kPlace{3, 4};
constexpr HostPlace kOtherPlace{3, 5};
constexpr Hash kHash{1, 2};
constexpr Hash kOtherHash{1, 3};
constexpr int kStates = 9;

auto all_of(const Chunk& chunk) {
  return std::make_tuple(chunk.handle, chunk.place.segment, chunk.place.step, chunk.state,
                         chunk.clean, chunk.doomed, chunk.hash.low, chunk.hash.high);
}

bool has_handle(ChunkState state) {
  return state == ChunkState::resident || state == ChunkState::leaving;
}

// What the header promises of every chunk at any time.
bool is_sound(const Chunk& chunk) {
  if ((chunk.handle != 0) != has_handle(chunk.state)) return false;
  const bool needs_place =
      chunk.state == ChunkState::swapped || chunk.state == ChunkState::coming_copied;
  if (needs_place && !chunk.place.is_some()) return false;
  if (chunk.place.is_some() && !needs_place && !has_handle(chunk.state)) return false;
  if (chunk.clean && !has_handle(chunk.state)) return false;
  if (chunk.hash.is_known() && !chunk.place.is_some()) return false;
  return !chunk.doomed || is_moving(chunk.state);
}

std::vector<Chunk> all_sound_chunks() {
  std::vector<Chunk> chunks;
  for (int bits = 0; bits < kStates << 5; ++bits) {
    Chunk chunk;
    chunk.state = static_cast<ChunkState>(bits >> 5);
    if ((bits & 1) != 0) chunk.handle = kHandle;
    if ((bits & 2) != 0) chunk.place = kPlace;
    if ((bits & 4) != 0) chunk.hash = kHash;
    chunk.clean = (bits & 8) != 0;
    chunk.doomed = (bits & 16) != 0;
    if (is_sound(chunk)) chunks.push_back(chunk);
  }
  return chunks;
}

std::vector<Happening> all_happenings() {
  std::vector<Happening> all;
  for (int event = 0; event < kChunkEvents; ++event) {
    for (const std::uint64_t handle : {std::uint64_t{0}, kHandle + 1}) {
      for (const HostPlace& place : {HostPlace{}, kPlace, kOtherPlace}) {
        for (const Hash& hash : {Hash{}, kHash, kOtherHash}) {
          all.push_back({static_cast<ChunkEvent>(event), handle, place, hash});
        }
      }
    }
  }
  return all;
}

// A row a state, a column an event, in their order. The state that follows, by the first letters
// of its name (F, C and Z are those that come); a dot refuses.
//  backed     out: began copied zero same cancelled  in: began done cancelled  hashed found written
//  dropped freed
constexpr const char* kRules[kStates] = {
    "r.....f......g",  // unbacked
    ".l.......rrrrg",  // resident
    "......c......g",  // swapped
    "......z......g",  // zero
    "..s0?r...l...l",  // leaving; same: as the copy is
    ".......ru....f",  // coming_fresh
    ".......rs....c",  // coming_copied
    ".......r0....z",  // coming_zeroed
    "..............",  // gone
};
constexpr char kLetters[kStates + 1] = "urs0lfczg";

char letter_of(ChunkState state) { return kLetters[static_cast<int>(state)]; }

// Whether what comes with an event is what the event needs, for one that fits the state.
bool is_complete(const Chunk& chunk, const Happening& what) {
  switch (what.event) {
    case ChunkEvent::backed:
    case ChunkEvent::in_done:
      return what.handle != 0;
    case ChunkEvent::out_copied:
      return what.place.is_some() && (!chunk.place.is_some() || chunk.place == what.place);
    case ChunkEvent::out_same:
      return chunk.clean;
    case ChunkEvent::hashed:
      return what.hash.is_known();
    case ChunkEvent::host_dropped:
      return chunk.place.is_some();
    case ChunkEvent::freed:
      return !chunk.doomed;
    default:
      return true;
  }
}

char expected_letter(const Chunk& chunk, const Happening& what) {
  char rule = kRules[static_cast<int>(chunk.state)][static_cast<int>(what.event)];
  if (rule == '.' || !is_complete(chunk, what)) return '.';
  if (rule == '?') rule = chunk.place.is_some() ? 's' : '0';
  // A move that goes on ends later.
  const bool goes_on = is_moving(chunk.state) && rule == letter_of(chunk.state);
  return chunk.doomed && !goes_on ? 'g' : rule;
}

using Things = std::multiset<std::pair<std::uint64_t, std::uint32_t>>;
void put(Things& things, std::uint64_t handle, const HostPlace& place) {
  if (handle != 0) things.insert({0, static_cast<std::uint32_t>(handle)});
  if (place.is_some()) things.insert({place.segment, place.step});
}

// Everything a chunk owned or got is still there, owned or to be released, except for the handle of
// a chunk that has left.
void expect_nothing_lost(const Chunk& before, const Happening& what, const Chunk& after,
                         const Outcome& outcome) {
  Things had;
  const bool has_left = what.event == ChunkEvent::out_copied ||
                        what.event == ChunkEvent::out_zero || what.event == ChunkEvent::out_same;
  put(had, has_left ? 0 : before.handle, before.place);
  if (what.event == ChunkEvent::out_copied && !before.place.is_some()) put(had, 0, what.place);
  if (what.event == ChunkEvent::backed || what.event == ChunkEvent::in_done) {
    put(had, what.handle, {});
  }
  Things has;
  put(has, after.handle, after.place);
  put(has, outcome.handle, outcome.place);
  EXPECT_EQ(had, has);
}

TEST(ChunkStepTest, EveryEventInEveryState) {
  const std::vector<Chunk> chunks = all_sound_chunks();
  ASSERT_EQ(chunks.size(), 31U);
  for (const Chunk& before : chunks) {
    for (const Happening& what : all_happenings()) {
      SCOPED_TRACE(testing::Message()
                   << letter_of(before.state) << " event " << static_cast<int>(what.event)
                   << " clean " << before.clean << " doomed " << before.doomed);
      Chunk after = before;
      const Outcome outcome = step(after, what);
      const char expected = expected_letter(before, what);
      ASSERT_EQ(outcome.fits, expected != '.');
      if (!outcome.fits) {
        EXPECT_EQ(all_of(after), all_of(before));
        EXPECT_EQ(outcome.handle, 0U);
        EXPECT_FALSE(outcome.place.is_some());
        continue;
      }
      EXPECT_EQ(letter_of(after.state), expected);
      EXPECT_TRUE(is_sound(after));
      expect_nothing_lost(before, what, after, outcome);
      const bool may_release =
          after.state == ChunkState::gone || what.event == ChunkEvent::out_zero ||
          what.event == ChunkEvent::found_zero || what.event == ChunkEvent::host_dropped;
      if (!may_release) {
        EXPECT_TRUE(outcome.handle == 0 && !outcome.place.is_some());
      }
    }
  }
}

TEST(ChunkStepTest, EverySoundChunkCanBeReachedAndNoOther) {
  std::vector<Chunk> found{Chunk{}};
  std::set<decltype(all_of(Chunk{}))> seen{all_of(Chunk{})};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (Happening what : all_happenings()) {
      if (what.handle != 0) what.handle = kHandle;
      if (what.place == kOtherPlace || what.hash == kOtherHash) continue;
      Chunk next = found[i];
      step(next, what);
      if (seen.insert(all_of(next)).second) found.push_back(next);
    }
  }
  std::set<decltype(all_of(Chunk{}))> sound;
  for (const Chunk& chunk : all_sound_chunks()) sound.insert(all_of(chunk));
  EXPECT_EQ(seen, sound);
}

}  // namespace
}  // namespace nvs::interposer::vmm
