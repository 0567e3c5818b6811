// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/hash.h"

#include <random>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kWords = 3 * 131'072 / 2 + 5;
constexpr std::uint64_t kBytes = 16 * kWords;

struct Out {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t not_zero = 0;
  bool operator==(const Out&) const = default;
};

class HashKernel : public testing::Test {
 protected:
  Out hash(std::uint64_t piece = kBytes) {
    View data;
    for (std::uint64_t at = 0; at < kBytes; at += piece) {
      data.append(nullptr, 0, bytes.data() + at, std::min(piece, kBytes - at));
    }
    Out result;
    View out;
    out.append(nullptr, 0, reinterpret_cast<std::byte*>(&result), sizeof result);
    const HashArguments arguments{0, kWords, 0};
    const View views[] = {data, out};
    const Builtin* kernel = find_builtin("nvs_hash_chunk");
    kernel->run(reinterpret_cast<const std::byte*>(&arguments), views);
    return result;
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
};

TEST_F(HashKernel, TellsZeroes) {
  EXPECT_EQ(hash().not_zero, 0U);
  bytes[kBytes - 1] = std::byte{1};
  EXPECT_EQ(hash().not_zero, 1U);
}

TEST_F(HashKernel, DoesNotDependOnHowMemoryLies) {
  std::mt19937 random(1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const Out whole = hash();
  EXPECT_EQ(hash(1003), whole);
  EXPECT_EQ(hash(65'536), whole);
}

// Each half of it by itself.
TEST_F(HashKernel, EveryByteCountsInBothHalves) {
  std::mt19937 random(2);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const Out before = hash();
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t at = round < 16 ? static_cast<std::uint64_t>(round) : random() % kBytes;
    const std::byte flip{static_cast<unsigned char>(1U << (random() % 8))};
    bytes[at] ^= flip;
    const Out after = hash();
    EXPECT_NE(after.low, before.low) << at;
    EXPECT_NE(after.high, before.high) << at;
    bytes[at] ^= flip;
  }
  EXPECT_EQ(hash(), before);
}

TEST_F(HashKernel, SeesThatWordsChangedPlaces) {
  bytes[0] = std::byte{1};
  const Out first = hash();
  std::swap(bytes[0], bytes[16]);
  const Out second = hash();
  std::swap(bytes[16], bytes[131'072 * 16]);  // the same thread's next word
  const Out third = hash();
  EXPECT_NE(first, second);
  EXPECT_NE(first, third);
  EXPECT_NE(second, third);
}

}  // namespace
}  // namespace nvs::sim
