// SPDX-License-Identifier: Apache-2.0
// What hooks do with memory that goes to other processes or comes from them, so that it counts
// against the tenant's limit once (ADR-0030). Nothing where no daemon is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/records.h"

namespace nvs::interposer::memory {

// What the process has can be had by others from now on, under a name that is in their handle, or
// by a descriptor, which is tagged.
void goes_by_handle(Space space, std::uint64_t id, const void* handle, std::size_t size);
void goes_by_file(Space space, std::uint64_t id, int file);

// Memory of others that was opened, held until it is written down or given up.
class HeldPiece {
 public:
  HeldPiece() = default;
  ~HeldPiece();
  HeldPiece(const HeldPiece&) = delete;
  HeldPiece& operator=(const HeldPiece&) = delete;

  // False: it is new to the tenant, and would be more than it may have. 0 bytes: nobody knows.
  bool take(int gpu, PieceName name, std::uint64_t bytes);
  // As that, for memory behind a descriptor, which is tagged if it was not.
  bool take_file(int gpu, int file);

  std::uint64_t bytes() const;
  // To the allocation that is written down next.
  PieceName hand_over();

 private:
  PieceName name_ = 0;
};

// The size of an imported handle, which its first mapping tells. False: it is too much.
bool may_be_mapped(CUmemGenericAllocationHandle handle, std::uint64_t bytes);

}  // namespace nvs::interposer::memory
