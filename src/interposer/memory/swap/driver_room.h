// SPDX-License-Identifier: Apache-2.0
// Room for what the driver takes for itself. A program that makes a context on a GPU which is full
// of others' memory would fail, although that memory can leave: room is taken as for an allocation,
// until the context is there. How much it needs nobody knows, so more and more is taken.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::swap {

// Made where the driver had too little. No lock may be held and no gate entered: others' memory is
// waited for, and so is our own where it has to leave.
class DriverRoom {
 public:
  explicit DriverRoom(int gpu);
  ~DriverRoom();
  DriverRoom(const DriverRoom&) = delete;
  DriverRoom& operator=(const DriverRoom&) = delete;
  // Waits for room, for more of it, or for what others are about to give back. False: the driver's
  // answer stands.
  bool wait();

 private:
  bool take(std::uint64_t bytes);
  bool take_more();

  const libc::NoCancel no_cancel_;
  int gpu_;
  std::uint64_t total_ = 0;  // 0: there is nobody who could make room
  std::uint64_t most_ = 0;
  std::uint64_t held_ = 0;
  std::int64_t began_ns_;  // later by what was waited for room
  std::int64_t taken_ns_ = 0;
  bool has_waited_ = false;
};

// A call that needs memory of the driver's own.
template <class Call>
CUresult with_room(int gpu, Call call) {
  CUresult result = call();
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  DriverRoom room(gpu);
  while (result == CUDA_ERROR_OUT_OF_MEMORY && room.wait()) result = call();
  return result;
}

}  // namespace nvs::interposer::swap
