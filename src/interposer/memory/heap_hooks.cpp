// SPDX-License-Identifier: Apache-2.0
// Hooks: the heap from which kernels allocate. The driver takes it from the device when a module
// first needs it; what a program asks for beyond the usual size counts against a limit at once.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/swap/driver_room.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kUsualHeap = std::uint64_t{8} << 20U;  // of every context, as is its code

std::uint64_t heap_of(const Owner& context) {
  Record record;
  int device = 0;
  return books().find_record(Space::heap, context.value, record, device) ? record.charged : 0;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

// It belongs to the context and goes with it.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const auto native = [&] { return real<Row::cuCtxSetLimit>()(limit, value); };
  if (limit != CU_LIMIT_MALLOC_HEAP_SIZE) return native();
  const Owner context = owner_here();
  if (context.value == 0) return native();
  const std::uint64_t had = heap_of(context);
  const std::uint64_t wanted = value > kUsualHeap ? value : 0;
  Reservation reserved;
  const bool is_more = wanted > had;
  if (is_more && !reserved.take_here(wanted - had)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result =
      is_more ? interposer::swap::with_room_here(wanted - had, native) : native();
  if (result != CUDA_SUCCESS || wanted == had) return result;
  if (wanted == 0) {
    books().take(Space::heap, context.value);
    return result;
  }
  count_here({.space = Space::heap,
              .kind = MemoryKind::heap,
              .id = context.value,
              .bytes = 0,  // where the driver has them, and since when, nobody knows
              .asked = wanted,
              .reserved = reserved.hand_over()});
  return result;
}

}  // namespace nvs::hooks
