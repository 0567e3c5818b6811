// SPDX-License-Identifier: Apache-2.0
// That no content is lost or mixed up on the way, whatever happens to a chunk.
#include <random>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/chunk_step.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kContentHandle = 7;
constexpr HostPlace kContentPlace{3, 4};

// A chunk with real content: numbers, 0 for zero, and their hashes.
struct World {
  Chunk chunk;
  std::uint64_t truth = 0;  // what the program would read
  std::uint64_t device = 0;
  std::uint64_t host = 0;  // in the place, if it has one
  bool is_fresh = true;    // the program has not written, and may read anything
};

Hash hash_of(std::uint64_t content) { return {content + 1, 1}; }

// The mover at work on it, as honest as it can know.
bool act(World& world, ChunkEvent event, std::mt19937& random) {
  Happening what{event, kContentHandle, kContentPlace, hash_of(world.device)};
  if (event == ChunkEvent::out_zero || event == ChunkEvent::found_zero) {
    if (world.device != 0) return false;
  }
  const Chunk before = world.chunk;
  if (!step(world.chunk, what).fits) return false;
  switch (event) {
    case ChunkEvent::backed:
      world.device = 99;
      break;
    case ChunkEvent::in_done:
      if (before.state == ChunkState::coming_fresh) world.device = 99;
      if (before.state == ChunkState::coming_copied) world.device = world.host;
      if (before.state == ChunkState::coming_zeroed) world.device = 0;
      break;
    case ChunkEvent::out_copied:
      world.host = world.device;
      break;
    case ChunkEvent::out_cancelled:  // half a copy was made
      if (!before.clean && random() % 2 == 0) world.host = 77;
      break;
    case ChunkEvent::written:
      if (random() % 3 == 0) {
        world.truth = world.device = random() % 3;
        world.is_fresh = false;
      }
      break;
    default:
      break;
  }
  return true;
}

TEST(ChunkContentTest, ContentSurvivesWhateverHappens) {
  std::mt19937 random{11};
  World world;
  int clean = 0;
  for (int i = 0; i < 200000; ++i) {
    if (i % 200 == 0) world = {};
    const auto event = static_cast<ChunkEvent>(random() % kChunkEvents);
    if (event == ChunkEvent::freed) continue;
    if (!act(world, event, random)) continue;
    const Chunk& chunk = world.chunk;
    if (!world.is_fresh) {
      const bool is_kept = chunk.state == ChunkState::swapped || chunk.state == ChunkState::zero;
      const std::uint64_t kept = chunk.state == ChunkState::swapped ? world.host : 0;
      ASSERT_NE(chunk.state, ChunkState::unbacked) << i;
      ASSERT_EQ(is_kept ? kept : world.truth, world.truth) << i;
      ASSERT_EQ(chunk.state == ChunkState::resident ? world.device : world.truth, world.truth) << i;
    }
    if (chunk.clean) {
      ASSERT_EQ(world.device, chunk.place.is_some() ? world.host : 0) << i;
      ++clean;
    }
    if (chunk.hash.is_known()) {
      ASSERT_EQ(chunk.hash, hash_of(world.host)) << i;
    }
  }
  EXPECT_GT(clean, 1000);
}

}  // namespace
}  // namespace nvs::interposer::vmm
