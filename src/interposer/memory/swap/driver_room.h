// SPDX-License-Identifier: Apache-2.0
// Room for what stays the driver's own: contexts, and allocations that are not moved. On a GPU that
// is full of others' memory they would fail, although that memory can leave: room is taken as for
// memory that moves, until the driver has what it needs. How much a context needs nobody knows, so
// more and more is taken for it.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::swap {

inline constexpr std::uint64_t kUnknownBytes = 0;

// Made where the driver had too little. No lock may be held and no gate entered: others' memory is
// waited for, and so is our own where it has to leave.
class DriverRoom {
 public:
  DriverRoom(int gpu, std::uint64_t bytes);
  ~DriverRoom();
  DriverRoom(const DriverRoom&) = delete;
  DriverRoom& operator=(const DriverRoom&) = delete;
  // For what the driver will need later: room of the size that is known, once others have made it.
  // False: there is none for us.
  bool take_ahead();
  // Waits for room, for more of it, or for what others are about to give back. False: the driver's
  // answer stands.
  bool wait();

 private:
  bool take(std::uint64_t bytes);
  bool take_more();

  const libc::NoCancel no_cancel_;
  int gpu_;
  std::uint64_t total_ = 0;  // 0: there is nobody who could make room
  std::uint64_t first_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t held_ = 0;
  std::int64_t began_ns_;  // later by what was waited for room
  std::int64_t taken_ns_ = 0;
  bool has_waited_ = false;
};

// Whether the process may have so much more of the GPU at all.
bool may_ever_have(int gpu, std::uint64_t bytes);

// A call that needs so much memory of the driver's own, on the GPU that `where()` tells; that is
// only asked if the driver has too little. What the call writes down is so before others may have
// the room.
template <class Where, class Call>
CUresult with_room_for(std::uint64_t bytes, Where where, Call call) {
  CUresult result = call();
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  DriverRoom room(where(), bytes);
  while (result == CUDA_ERROR_OUT_OF_MEMORY && room.wait()) result = call();
  return result;
}

// The GPU of the current context, if a daemon may share it; a negative number: none.
int gpu_here();

template <class Call>
CUresult with_room_here(std::uint64_t bytes, Call call) {
  return with_room_for(bytes, &gpu_here, call);
}

// For a context.
template <class Call>
CUresult with_room(int gpu, Call call) {
  return with_room_for(
      kUnknownBytes, [gpu] { return gpu; }, call);
}

}  // namespace nvs::interposer::swap
