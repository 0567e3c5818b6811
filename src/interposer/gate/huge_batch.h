// SPDX-License-Identifier: Apache-2.0
// Batches of copies, which may be as huge in all as one copy, or hold one that is. They are
// submitted in runs of entries, a huge entry in pieces. Their order is no program's business, so it
// may as well be that of the list.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>

#include "interposer/gate/gate.h"
#include "interposer/gate/huge_copy.h"

namespace nvs::interposer {

// Behind a batch's own arguments stand its stream, flags before that, and in the older ones of
// these functions, first of all, where to say which entry is wrong.
template <class... Rest>
concept FailureAndStream = std::same_as<void(Rest...), void(CUstream)> ||
    std::same_as<void(Rest...), void(std::size_t*, CUstream)> ||
    std::same_as<void(Rest...), void(unsigned long long, CUstream)> ||
    std::same_as<void(Rest...), void(std::size_t*, unsigned long long, CUstream)>;

template <class... Rest>
void found_failure(std::size_t, Rest...) {}
// It was said of a run, and the program means the whole list. The largest number is none.
template <class... Rest>
void found_failure(std::size_t begin, std::size_t* index, Rest...) {
  if (index != nullptr && *index != ~std::size_t{0}) *index += begin;
}

// Where a run ends that begins there: it is of at most a piece in all, but of one entry at least.
template <class Bytes>
std::size_t end_of_run(std::size_t begin, std::size_t count, Bytes bytes_of_entry) {
  std::size_t end = begin + 1;
  std::size_t bytes = bytes_of_entry(begin);
  while (end < count && bytes <= kCopyPiece && bytes_of_entry(end) <= kCopyPiece - bytes) {
    bytes += bytes_of_entry(end++);
  }
  return end;
}

template <class... Rest>
requires FailureAndStream<Rest...>
struct HugeCopy<CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
                std::size_t*, std::size_t, Rest...> {
  static constexpr bool kIsCopy = true;
  static constexpr std::size_t kAttributesMax = 16;  // in one run

  // What the driver refuses it gets as it is; and alone nobody looks at lists that it may refuse
  // before it has looked at them.
  static bool is_huge(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                      CUmemcpyAttributes* attributes, std::size_t* starts,
                      std::size_t attribute_count, Rest...) {
    if (!gate::is_shared()) return false;
    if (to == nullptr || from == nullptr || sizes == nullptr || attributes == nullptr) return false;
    const auto bytes = [sizes](std::size_t i) { return sizes[i]; };
    const bool is_more =
        count > 1 ? end_of_run(0, count, bytes) < count : count == 1 && *sizes > kCopyPiece;
    if (!is_more || starts == nullptr || attribute_count == 0) return false;
    std::size_t* const end = starts + attribute_count;
    const bool is_in_order = std::adjacent_find(starts, end, std::greater_equal<>()) == end;
    return *starts == 0 && is_in_order && end[-1] < count;
  }

  // An attribute is for the entries from its start until the next one's, so those of a run are told
  // anew, and a run ends where they are too many.
  template <class Copy>
  static CUresult in_pieces(Copy copy, CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                            std::size_t count, CUmemcpyAttributes* attributes, std::size_t* starts,
                            std::size_t attribute_count, Rest... rest) {
    CUresult result = CUDA_SUCCESS;
    std::size_t first = 0;  // the attribute of the next entry
    for (std::size_t begin = 0; begin < count && result == CUDA_SUCCESS;) {
      std::size_t end = end_of_run(begin, count, [sizes](std::size_t i) { return sizes[i]; });
      while (first + 1 < attribute_count && starts[first + 1] <= begin) ++first;
      std::size_t own[kAttributesMax] = {0};
      std::size_t owned = 1;
      for (; first + owned < attribute_count && starts[first + owned] < end; ++owned) {
        if (owned == kAttributesMax) {
          end = starts[first + owned];
          break;
        }
        own[owned] = starts[first + owned] - begin;
      }
      result = one_run(copy, {to + begin, from + begin, sizes + begin, end - begin},
                       attributes + first, own, owned, rest...);
      if (result != CUDA_SUCCESS) found_failure(begin, rest...);
      begin = end;
    }
    return result;
  }

 private:
  struct Run {
    CUdeviceptr* to;
    CUdeviceptr* from;
    std::size_t* sizes;
    std::size_t count;
  };

  // A huge entry is alone in its run.
  template <class Copy>
  static CUresult one_run(Copy copy, const Run& run, CUmemcpyAttributes* attributes,
                          std::size_t* starts, std::size_t attribute_count, Rest... rest) {
    const auto call = [&](CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes) {
      return copy(to, from, sizes, run.count, attributes, starts, attribute_count, rest...);
    };
    if (*run.sizes <= kCopyPiece) return call(run.to, run.from, run.sizes);
    return in_stretches(*run.sizes, kCopyPiece, [&](std::size_t done, std::size_t bytes) {
      CUdeviceptr to = *run.to + done;
      CUdeviceptr from = *run.from + done;
      return call(&to, &from, &bytes);
    });
  }
};

// Of boxes. One is never split: its rows may lie in arrays of any layout.
template <class... Rest>
requires FailureAndStream<Rest...>
struct HugeCopy<std::size_t, CUDA_MEMCPY3D_BATCH_OP*, Rest...> {
  static constexpr bool kIsCopy = true;

  // Of arrays the elements are counted, which are of a few bytes each.
  static std::size_t bytes_of(const CUDA_MEMCPY3D_BATCH_OP& one) {
    return one.extent.width * one.extent.height * one.extent.depth;
  }
  static std::size_t end_of(std::size_t begin, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list) {
    return end_of_run(begin, count, [list](std::size_t i) { return bytes_of(list[i]); });
  }
  static bool is_huge(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, Rest...) {
    return gate::is_shared() && list != nullptr && count > 1 && end_of(0, count, list) < count;
  }

  template <class Copy>
  static CUresult in_pieces(Copy copy, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                            Rest... rest) {
    CUresult result = CUDA_SUCCESS;
    for (std::size_t begin = 0; begin < count && result == CUDA_SUCCESS;) {
      const std::size_t end = end_of(begin, count, list);
      result = copy(end - begin, list + begin, rest...);
      if (result != CUDA_SUCCESS) found_failure(begin, rest...);
      begin = end;
    }
    return result;
  }
};

}  // namespace nvs::interposer
