// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/huge_copy.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer {
namespace {

using Up = HugeCopy<CUdeviceptr, const void*, std::size_t, CUstream>;
using Across = HugeCopy<CUdeviceptr, CUdeviceptr, std::size_t>;
using Peer = HugeCopy<CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream>;
using Rows = HugeCopy<const CUDA_MEMCPY2D*, CUstream>;
using Slabs = HugeCopy<const CUDA_MEMCPY3D*>;
using PeerSlabs = HugeCopy<const CUDA_MEMCPY3D_PEER*, CUstream>;

CUstream const kStream = reinterpret_cast<CUstream>(std::uintptr_t{5});
constexpr std::size_t kMiB = std::size_t{1} << 20U;

TEST(HugeCopy, PiecesCoverTheWholeInOrder) {
  constexpr std::size_t kBytes = 2 * kCopyPiece + 5;
  std::vector<std::size_t> sizes;
  std::size_t at = 0;
  char* const from = nullptr;
  const CUresult result = Up::in_pieces(
      [&](CUdeviceptr to, const void* source, std::size_t bytes, CUstream) {
        EXPECT_EQ(to, 1000 + at);
        EXPECT_EQ(static_cast<const char*>(source), from + at);
        sizes.push_back(bytes);
        at += bytes;
        return CUDA_SUCCESS;
      },
      CUdeviceptr{1000}, from, kBytes, CUstream{nullptr});
  EXPECT_EQ(result, CUDA_SUCCESS);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{kCopyPiece, kCopyPiece, 5}));
}

TEST(HugeCopy, TheFirstFailureEndsIt) {
  int calls = 0;
  const CUresult result = Across::in_pieces(
      [&](CUdeviceptr, CUdeviceptr, std::size_t) {
        return ++calls == 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
      },
      CUdeviceptr{0}, CUdeviceptr{0}, 5 * kCopyPiece);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(calls, 2);
}

// Begin and length of each piece.
using Stretches = std::vector<std::pair<std::size_t, std::size_t>>;

TEST(HugeCopy, RowsAreTakenTogetherUpToAPiece) {
  CUDA_MEMCPY2D whole{};
  whole.WidthInBytes = 10 * kMiB;
  whole.Height = 8;
  whole.srcY = 100;
  whole.dstY = 7;
  whole.srcXInBytes = 3;
  Stretches rows;
  const auto copy = [&](const CUDA_MEMCPY2D* piece, CUstream stream) {
    EXPECT_EQ(stream, kStream);
    EXPECT_EQ(piece->srcY - 100, piece->dstY - 7);
    EXPECT_EQ(piece->srcXInBytes, 3U);
    EXPECT_EQ(piece->WidthInBytes, 10 * kMiB);
    rows.emplace_back(piece->dstY - 7, piece->Height);
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(Rows::in_pieces(copy, &whole, kStream), CUDA_SUCCESS);
  EXPECT_EQ(rows, (Stretches{{0, 3}, {3, 3}, {6, 2}}));
}

TEST(HugeCopy, SlicesAreTakenTogetherUpToAPiece) {
  CUDA_MEMCPY3D whole{};
  whole.WidthInBytes = kMiB;
  whole.Height = 15;
  whole.Depth = 4;
  whole.srcZ = 1;
  Stretches slices;
  const auto copy = [&](const CUDA_MEMCPY3D* piece) {
    EXPECT_EQ(piece->srcZ, piece->dstZ + 1);
    EXPECT_EQ(piece->Height, 15U);
    slices.emplace_back(piece->dstZ, piece->Depth);
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(Slabs::in_pieces(copy, &whole), CUDA_SUCCESS);
  EXPECT_EQ(slices, (Stretches{{0, 2}, {2, 2}}));
}

TEST(HugeCopy, HugeSlicesAreTakenByTheirRows) {
  CUDA_MEMCPY3D whole{};
  whole.WidthInBytes = kMiB;
  whole.Height = 48;
  whole.Depth = 2;
  Stretches rows;
  std::size_t slice = 0;
  const auto copy = [&](const CUDA_MEMCPY3D* piece) {
    EXPECT_EQ(piece->Depth, 1U);
    EXPECT_EQ(piece->srcZ, piece->dstZ);
    EXPECT_EQ(piece->srcY, piece->dstY);
    EXPECT_EQ(piece->dstZ, slice);
    rows.emplace_back(piece->dstY, piece->Height);
    if (piece->dstY + piece->Height == 48) ++slice;
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(Slabs::in_pieces(copy, &whole), CUDA_SUCCESS);
  EXPECT_EQ(rows, (Stretches{{0, 32}, {32, 16}, {0, 32}, {32, 16}}));
}

TEST(HugeCopy, ThoseBetweenGpusToo) {
  CUcontext const there = reinterpret_cast<CUcontext>(std::uintptr_t{1});
  CUcontext const here = reinterpret_cast<CUcontext>(std::uintptr_t{2});
  Stretches pieces;
  const auto copy = [&](CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                        CUcontext from_context, std::size_t bytes, CUstream stream) {
    EXPECT_EQ(to - 1000, from - 7);
    EXPECT_EQ((std::pair{to_context, from_context}), (std::pair{there, here}));
    EXPECT_EQ(stream, kStream);
    pieces.emplace_back(from - 7, bytes);
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(Peer::in_pieces(copy, 1000, there, 7, here, kCopyPiece + 9, kStream), CUDA_SUCCESS);
  EXPECT_EQ(pieces, (Stretches{{0, kCopyPiece}, {kCopyPiece, 9}}));
  EXPECT_FALSE(Peer::is_huge(0, there, 0, here, kCopyPiece, kStream));
  EXPECT_TRUE(Peer::is_huge(0, there, 0, here, kCopyPiece + 1, kStream));

  CUDA_MEMCPY3D_PEER whole{};
  whole.WidthInBytes = whole.Height = 1024;
  whole.Depth = 40;
  EXPECT_TRUE(PeerSlabs::is_huge(&whole, kStream));
  EXPECT_FALSE(PeerSlabs::is_huge(nullptr, kStream));
  pieces.clear();
  const auto copy_slabs = [&](const CUDA_MEMCPY3D_PEER* piece, CUstream) {
    EXPECT_EQ(piece->srcZ, piece->dstZ);
    pieces.emplace_back(piece->srcZ, piece->Depth);
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(PeerSlabs::in_pieces(copy_slabs, &whole, kStream), CUDA_SUCCESS);
  EXPECT_EQ(pieces, (Stretches{{0, 32}, {32, 8}}));
}

TEST(HugeCopy, OnlyWhatIsLongerThanAPieceIsHuge) {
  CUDA_MEMCPY2D rows{};
  rows.WidthInBytes = kCopyPiece / 2;
  rows.Height = 2;
  EXPECT_FALSE(Rows::is_huge(&rows, nullptr));
  rows.Height = 3;
  EXPECT_TRUE(Rows::is_huge(&rows, nullptr));
  EXPECT_FALSE(Rows::is_huge(nullptr, nullptr)) << "that is for the driver to refuse";
  EXPECT_FALSE(Across::is_huge(0, 0, kCopyPiece));
  EXPECT_TRUE(Across::is_huge(0, 0, kCopyPiece + 1));
}

TEST(HugeCopy, CopiesAreKnownByTheirArguments) {
  EXPECT_TRUE((HugeCopy<CUdeviceptr, const void*, std::size_t>::kIsCopy));
  EXPECT_TRUE((HugeCopy<void*, CUdeviceptr, std::size_t, CUstream>::kIsCopy));
  EXPECT_TRUE((HugeCopy<CUdeviceptr, CUdeviceptr, std::size_t, CUstream>::kIsCopy));
  EXPECT_TRUE((HugeCopy<const CUDA_MEMCPY3D*, CUstream>::kIsCopy));
  EXPECT_FALSE((HugeCopy<CUdeviceptr, unsigned char, std::size_t>::kIsCopy)) << "that is a fill";
  EXPECT_FALSE((HugeCopy<CUarray, std::size_t, CUdeviceptr, std::size_t>::kIsCopy));
  EXPECT_TRUE(Peer::kIsCopy && PeerSlabs::kIsCopy);
  EXPECT_FALSE((HugeCopy<const void*, CUstream>::kIsCopy));
}

}  // namespace
}  // namespace nvs::interposer
