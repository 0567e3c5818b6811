// SPDX-License-Identifier: Apache-2.0
// What the hooks of memory and contexts have in common. They let the driver speak first and change
// nothing of what it says; an out parameter is read only if the driver reports success. What they
// ask the driver besides are questions that succeed in a poisoned context and do not disturb a
// stream capture.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/real.h"
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {

template <class Handle>
std::uint64_t number_of(Handle* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

// Where memory is, as the books name devices.
inline int device_at(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kHostDevice;
}

// Of the calling thread; value 0 if there is none.
Owner current_context();

// Of that context; kUnknownDevice if there is none.
int current_device();

// Whose is what the calling thread allocates: the current context's, but for a green one, whose
// memory ends with the primary context.
Owner owner_here();

// Writes an allocation down for that context.
void count_here(Allocation allocation);

// Writes down memory that belongs to a device: what the handle, or the token for one, stands for.
void count_handle(std::uint64_t handle, MemoryKind kind, std::uint64_t bytes, int device,
                  const Reserved& reserved = {});

// Tells the debug log of a context.
void log_context(std::uint64_t context, RowUse use, int device, const char* event);

// Takes what `id` means out of the books, lets the driver free it, and puts it back if the driver
// refuses.
template <class Call>
CUresult free_through(Space space, std::uint64_t id, Call call) {
  const Taken taken = books().take(space, id);
  const CUresult result = call();
  if (result != CUDA_SUCCESS) books().put_back(taken);
  return result;
}

}  // namespace nvs::interposer::memory
