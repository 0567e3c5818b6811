// SPDX-License-Identifier: Apache-2.0
// Copies of one piece of memory to another, by the shape of their arguments. While GPUs are shared
// a huge one is submitted in pieces: each one passes the gate by itself, so that it cannot hold a
// window for as long as the whole would take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer {

// Some 0.6 ms over PCIe 5, and 2.7 ms over PCIe 3.
inline constexpr std::size_t kCopyPiece = std::size_t{32} << 20U;

template <class Argument>
inline constexpr bool kIsPlace =
    std::is_same_v<Argument, CUdeviceptr> || std::is_same_v<Argument, void*> ||
    std::is_same_v<Argument, const void*>;

template <class... Arguments>
struct LinearCopy : std::false_type {};
template <class To, class From>
struct LinearCopy<To, From, std::size_t> : std::bool_constant<kIsPlace<To> && kIsPlace<From>> {};
template <class To, class From>
struct LinearCopy<To, From, std::size_t, CUstream>
    : std::bool_constant<kIsPlace<To> && kIsPlace<From>> {};

inline CUdeviceptr advanced(CUdeviceptr place, std::size_t bytes) { return place + bytes; }
inline void* advanced(void* place, std::size_t bytes) { return static_cast<char*>(place) + bytes; }
inline const void* advanced(const void* place, std::size_t bytes) {
  return static_cast<const char*>(place) + bytes;
}

// Calls `copy` for one piece after the other, until one fails.
template <class Copy, class To, class From, class... Rest>
CUresult copy_in_pieces(Copy copy, To to, From from, std::size_t bytes, Rest... rest) {
  CUresult result = CUDA_SUCCESS;
  for (std::size_t done = 0; done < bytes && result == CUDA_SUCCESS; done += kCopyPiece) {
    const std::size_t left = bytes - done;
    result = copy(advanced(to, done), advanced(from, done), left < kCopyPiece ? left : kCopyPiece,
                  rest...);
  }
  return result;
}

}  // namespace nvs::interposer
