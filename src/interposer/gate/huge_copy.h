// SPDX-License-Identifier: Apache-2.0
// Copies, by the shape of their arguments. While GPUs are shared a huge one is submitted in pieces:
// each one passes the gate by itself, so that it cannot hold a window for as long as the whole
// would take. Pieces are in order and cover the whole; the first that fails ends it.
#pragma once

#include <concepts>
#include <cstddef>

#include "cuda_api/cuda_memory.h"
#include "cuda_api/cuda_types.h"

namespace nvs::interposer {

// Some 0.6 ms over PCIe 5, and 2.7 ms over PCIe 3.
inline constexpr std::size_t kCopyPiece = std::size_t{32} << 20U;

template <class Argument>
concept Place = std::same_as<Argument, CUdeviceptr> || std::same_as<Argument, void*> ||
    std::same_as<Argument, const void*>;

// Both say in the same words which slices they mean.
template <class Argument>
concept Slices =
    std::same_as<Argument, CUDA_MEMCPY3D> || std::same_as<Argument, CUDA_MEMCPY3D_PEER>;

// Behind the copy's own arguments stands at most its stream.
template <class... Rest>
concept MaybeStream = sizeof...(Rest) == 0 || (std::same_as<Rest, CUstream> && ...);

inline CUdeviceptr advanced(CUdeviceptr place, std::size_t bytes) { return place + bytes; }
inline void* advanced(void* place, std::size_t bytes) { return static_cast<char*>(place) + bytes; }
inline const void* advanced(const void* place, std::size_t bytes) {
  return static_cast<const char*>(place) + bytes;
}

inline std::size_t bytes_of(const CUDA_MEMCPY2D* copy) {
  return copy == nullptr ? 0 : copy->WidthInBytes * copy->Height;
}
template <Slices Whole>
std::size_t bytes_of(const Whole* copy) {
  return copy == nullptr ? 0 : copy->WidthInBytes * copy->Height * copy->Depth;
}

// Calls `make(begin, count)` for one stretch after the other of at most `most`.
template <class Make>
CUresult in_stretches(std::size_t whole, std::size_t most, Make make) {
  CUresult result = CUDA_SUCCESS;
  for (std::size_t done = 0; done < whole && result == CUDA_SUCCESS; done += most) {
    const std::size_t left = whole - done;
    result = make(done, left < most ? left : most);
  }
  return result;
}

// How many rows, or slices, of this size make a piece.
inline std::size_t fit(std::size_t bytes_each) {
  return bytes_each < kCopyPiece ? kCopyPiece / bytes_each : 1;
}

template <class... Arguments>
struct HugeCopy {
  static constexpr bool kIsCopy = false;
};

// Of one stretch of memory to another.
template <Place To, Place From, class... Rest>
requires MaybeStream<Rest...>
struct HugeCopy<To, From, std::size_t, Rest...> {
  static constexpr bool kIsCopy = true;
  static bool is_huge(To, From, std::size_t bytes, Rest...) { return bytes > kCopyPiece; }

  template <class Copy>
  static CUresult in_pieces(Copy copy, To to, From from, std::size_t bytes, Rest... rest) {
    return in_stretches(bytes, kCopyPiece, [&](std::size_t begin, std::size_t count) {
      return copy(advanced(to, begin), advanced(from, begin), count, rest...);
    });
  }
};

// Likewise, from one GPU to another.
template <class... Rest>
requires MaybeStream<Rest...>
struct HugeCopy<CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, Rest...> {
  static constexpr bool kIsCopy = true;
  static bool is_huge(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t bytes, Rest...) {
    return bytes > kCopyPiece;
  }

  template <class Copy>
  static CUresult in_pieces(Copy copy, CUdeviceptr to, CUcontext there, CUdeviceptr from,
                            CUcontext here, std::size_t bytes, Rest... rest) {
    return in_stretches(bytes, kCopyPiece, [&](std::size_t begin, std::size_t count) {
      return copy(to + begin, there, from + begin, here, count, rest...);
    });
  }
};

// Of rows that lie apart, or in arrays.
template <class... Rest>
requires MaybeStream<Rest...>
struct HugeCopy<const CUDA_MEMCPY2D*, Rest...> {
  static constexpr bool kIsCopy = true;
  static bool is_huge(const CUDA_MEMCPY2D* whole, Rest...) { return bytes_of(whole) > kCopyPiece; }

  template <class Copy>
  static CUresult in_pieces(Copy copy, const CUDA_MEMCPY2D* whole, Rest... rest) {
    const std::size_t rows = fit(whole->WidthInBytes);
    return in_stretches(whole->Height, rows, [&](std::size_t begin, std::size_t count) {
      CUDA_MEMCPY2D piece = *whole;
      piece.srcY += begin;
      piece.dstY += begin;
      piece.Height = count;
      return copy(&piece, rest...);
    });
  }
};

// Of slices: several at a time, or each of them by its rows.
template <Slices Whole, class... Rest>
requires MaybeStream<Rest...>
struct HugeCopy<const Whole*, Rest...> {
  static constexpr bool kIsCopy = true;
  static bool is_huge(const Whole* whole, Rest...) { return bytes_of(whole) > kCopyPiece; }

  template <class Copy>
  static CUresult in_pieces(Copy copy, const Whole* whole, Rest... rest) {
    const std::size_t slices = fit(whole->WidthInBytes * whole->Height);
    return in_stretches(whole->Depth, slices, [&](std::size_t begin, std::size_t count) {
      Whole piece = *whole;
      piece.srcZ += begin;
      piece.dstZ += begin;
      piece.Depth = count;
      return count > 1 ? copy(&piece, rest...) : by_rows(copy, piece, rest...);
    });
  }

 private:
  template <class Copy>
  static CUresult by_rows(Copy copy, const Whole& slice, Rest... rest) {
    const std::size_t rows = fit(slice.WidthInBytes);
    return in_stretches(slice.Height, rows, [&](std::size_t begin, std::size_t count) {
      Whole piece = slice;
      piece.srcY += begin;
      piece.dstY += begin;
      piece.Height = count;
      return copy(&piece, rest...);
    });
  }
};

}  // namespace nvs::interposer
