// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/huge_batch.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "interposer/gate/gated_call.h"

namespace nvs::interposer {
namespace {

using Batch = HugeCopy<CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
                       std::size_t*, std::size_t, std::size_t*, CUstream>;
using NewBatch = HugeCopy<CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                          CUmemcpyAttributes*, std::size_t*, std::size_t, CUstream>;
using Boxes =
    HugeCopy<std::size_t, CUDA_MEMCPY3D_BATCH_OP*, std::size_t*, unsigned long long, CUstream>;
using NewBoxes = HugeCopy<std::size_t, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream>;

CUstream const kToBatches = reinterpret_cast<CUstream>(std::uintptr_t{5});
constexpr std::size_t kPart = kCopyPiece / 4;

// Entries of these sizes one behind the other, and a driver that writes down what becomes of each.
class HugeBatch : public testing::Test {
 protected:
  void SetUp() override { gate::set_bounded(true); }
  void TearDown() override { gate::set_bounded(false); }

  struct Copied {
    CUdeviceptr to;
    CUdeviceptr from;
    std::size_t bytes;
    unsigned flags;
    bool operator==(const Copied&) const = default;
  };

  void entries(const std::vector<std::size_t>& bytes) {
    sizes = bytes;
    to.clear();
    from.clear();
    CUdeviceptr at = 0;
    for (const std::size_t one : bytes) {
      to.push_back(kTo + at);
      from.push_back(kFrom + at);
      at += one;
    }
  }
  // From each of these entries on another one.
  void attributes(const std::vector<std::size_t>& at) {
    starts = at;
    marks.assign(at.size(), {});
    for (unsigned i = 0; i < marks.size(); ++i) marks[i].flags = i + 1;
  }
  bool is_huge() {
    return NewBatch::is_huge(to.data(), from.data(), sizes.data(), sizes.size(), marks.data(),
                             starts.data(), starts.size(), kToBatches);
  }
  CUresult copy(std::size_t* failed) {
    return Batch::in_pieces([this](auto... all) { return driver(all...); }, to.data(), from.data(),
                            sizes.data(), sizes.size(), marks.data(), starts.data(), starts.size(),
                            failed, kToBatches);
  }
  CUresult driver(const CUdeviceptr* run_to, const CUdeviceptr* run_from,
                  const std::size_t* run_sizes, std::size_t count, const CUmemcpyAttributes* given,
                  const std::size_t* given_starts, std::size_t given_count, std::size_t* failed,
                  CUstream stream) {
    EXPECT_EQ(stream, kToBatches);
    EXPECT_GE(count, 1U);
    EXPECT_EQ(given_starts[0], 0U);
    EXPECT_LE(given_count, count);
    std::size_t all = 0;
    std::size_t mark = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (mark + 1 < given_count && given_starts[mark + 1] == i) ++mark;
      if (run_to[i] == wrong) {
        *failed = i;
        return CUDA_ERROR_INVALID_VALUE;
      }
      copied.push_back({run_to[i], run_from[i], run_sizes[i], given[mark].flags});
      all += run_sizes[i];
    }
    EXPECT_EQ(mark + 1, given_count) << "all that were given are of this run";
    EXPECT_LE(all, kCopyPiece);
    ++runs;
    return CUDA_SUCCESS;
  }

  static constexpr CUdeviceptr kTo = 0x1'0000'0000;
  static constexpr CUdeviceptr kFrom = 0x2'0000'0000;
  std::vector<CUdeviceptr> to, from;
  std::vector<std::size_t> sizes, starts;
  std::vector<CUmemcpyAttributes> marks;
  std::vector<Copied> copied;
  CUdeviceptr wrong = 0;
  int runs = 0;
};

TEST_F(HugeBatch, IsSubmittedInRunsOfAPiece) {
  entries({kPart, kPart, kPart, kPart, kPart, kPart});
  attributes({0});
  ASSERT_TRUE(is_huge());
  EXPECT_EQ(copy(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(runs, 2);
  ASSERT_EQ(copied.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(copied[i], (Copied{to[i], from[i], sizes[i], 1}));
  }
}

TEST_F(HugeBatch, EachEntryKeepsItsAttributes) {
  entries({kPart, kPart, kPart, kPart, kPart, kPart, kPart});
  attributes({0, 1, 3, 5});
  ASSERT_TRUE(is_huge());
  EXPECT_EQ(copy(nullptr), CUDA_SUCCESS);
  std::vector<unsigned> flags;
  for (const Copied& one : copied) flags.push_back(one.flags);
  EXPECT_EQ(flags, (std::vector<unsigned>{1, 2, 2, 3, 3, 4, 4}));
}

TEST_F(HugeBatch, SoItDoesWhereThereAreManyInOneRun) {
  entries(std::vector<std::size_t>(100, kCopyPiece / 80));
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < 100; ++i) all.push_back(i);
  attributes(all);
  ASSERT_TRUE(is_huge());
  EXPECT_EQ(copy(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(copied.size(), 100U);
  for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(copied[i].flags, i + 1);
}

TEST_F(HugeBatch, AHugeEntryComesInPieces) {
  entries({5, 2 * kCopyPiece + 7, 6});
  attributes({0, 1, 2});
  ASSERT_TRUE(is_huge());
  EXPECT_EQ(copy(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(copied, (std::vector<Copied>{
                        {to[0], from[0], 5, 1},
                        {to[1], from[1], kCopyPiece, 2},
                        {to[1] + kCopyPiece, from[1] + kCopyPiece, kCopyPiece, 2},
                        {to[1] + 2 * kCopyPiece, from[1] + 2 * kCopyPiece, 7, 2},
                        {to[2], from[2], 6, 3},
                    }));
  entries({kCopyPiece + 1});
  attributes({0});
  EXPECT_TRUE(is_huge());
}

TEST_F(HugeBatch, AloneNobodyLooks) {
  entries({kCopyPiece + 1});
  attributes({0});
  gate::set_bounded(false);
  EXPECT_FALSE(is_huge());
  std::vector<CUDA_MEMCPY3D_BATCH_OP> list(2);
  for (auto& one : list) one.extent = {kCopyPiece, 1, 1};
  EXPECT_FALSE(NewBoxes::is_huge(2, list.data(), 0, kToBatches));
}

TEST_F(HugeBatch, TheFirstFailureEndsItAndIsToldByItsPlaceInTheWhole) {
  entries({kPart, kPart, kPart, kPart, kPart, kPart, kCopyPiece});
  attributes({0});
  wrong = to[5];
  std::size_t failed = 0;
  EXPECT_EQ(copy(&failed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 5U);
  EXPECT_EQ(copied.size(), 5U);
}

TEST_F(HugeBatch, WhatIsNoLongerThanAPieceIsNotHuge) {
  attributes({0});
  entries({kPart, kPart, kPart, kPart});
  EXPECT_FALSE(is_huge());
  entries({kCopyPiece});
  EXPECT_FALSE(is_huge());
  entries({});
  EXPECT_FALSE(is_huge());
}

TEST_F(HugeBatch, WhatTheDriverRefusesItGetsAsItIs) {
  entries({kCopyPiece, kCopyPiece, kCopyPiece});
  for (const auto& starts_at :
       std::vector<std::vector<std::size_t>>{{}, {1}, {0, 0}, {0, 2, 1}, {0, 3}}) {
    attributes(starts_at);
    EXPECT_FALSE(is_huge());
  }
  attributes({0, 1});
  EXPECT_TRUE(is_huge());
  EXPECT_FALSE(NewBatch::is_huge(nullptr, from.data(), sizes.data(), 3, marks.data(), starts.data(),
                                 2, kToBatches));
  EXPECT_FALSE(NewBatch::is_huge(to.data(), from.data(), sizes.data(), 3, marks.data(), nullptr, 2,
                                 kToBatches));
}

TEST_F(HugeBatch, BoxesComeInRuns) {
  std::vector<CUDA_MEMCPY3D_BATCH_OP> list(5);
  for (auto& one : list) one.extent = {kPart / 16, 8, 4};
  EXPECT_TRUE(NewBoxes::is_huge(list.size(), list.data(), 0, kToBatches));
  EXPECT_FALSE(NewBoxes::is_huge(2, list.data(), 0, kToBatches));
  EXPECT_FALSE(NewBoxes::is_huge(5, nullptr, 0, kToBatches));
  std::vector<std::size_t> counts;
  std::size_t failed = 7;
  const CUresult result = Boxes::in_pieces(
      [&](std::size_t count, CUDA_MEMCPY3D_BATCH_OP* run, std::size_t* index, unsigned long long,
          CUstream) {
        counts.push_back(count);
        if (run != list.data() + 2) return CUDA_SUCCESS;
        *index = 1;
        return CUDA_ERROR_INVALID_VALUE;
      },
      list.size(), list.data(), &failed, 0ULL, kToBatches);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(counts, (std::vector<std::size_t>{2, 2}));
  EXPECT_EQ(failed, 3U);
}

template <Row row, class Function = typename RowFunction<row>::Type>
struct KnownAsCopy;
template <Row row, class... Arguments>
struct KnownAsCopy<row, CUresult(Arguments...)> {
  static constexpr bool kIs = HugeCopy<Arguments...>::kIsCopy;
};

TEST_F(HugeBatch, AllFunctionsAreKnown) {
  EXPECT_TRUE(KnownAsCopy<Row::cuMemcpyBatchAsync>::kIs);
  EXPECT_TRUE(KnownAsCopy<Row::cuMemcpyBatchAsync_v2>::kIs);
  EXPECT_TRUE(KnownAsCopy<Row::cuMemcpy3DBatchAsync>::kIs);
  EXPECT_TRUE(KnownAsCopy<Row::cuMemcpy3DBatchAsync_v2>::kIs);
  EXPECT_FALSE(KnownAsCopy<Row::cuMemPrefetchBatchAsync>::kIs);
}

}  // namespace
}  // namespace nvs::interposer
