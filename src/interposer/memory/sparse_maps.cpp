// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/sparse_maps.h"

#include "interposer/memory/books.h"
#include "interposer/memory/slot_table.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory::sparse {
namespace {

constexpr std::size_t kPlaceWords = 8;

// Where something is mapped, in the words of the operation, and what.
struct Slot {
  std::uint64_t array;
  Birth array_birth;      // 0: the books do not know it
  std::uint64_t context;  // whose array it is
  std::uint64_t handle;
  Birth handle_birth;
  std::uint64_t place[kPlaceWords];
  Space space;

  bool used() const { return space != Space::none; }
  std::uint64_t hash() const {
    std::uint64_t sum = array + static_cast<std::uint64_t>(space);
    for (const std::uint64_t word : place) sum = spread(sum) + word;
    return spread(sum);
  }
  bool same_key(const Slot& other) const {
    return array == other.array && space == other.space &&
           __builtin_memcmp(place, other.place, sizeof place) == 0;
  }
};

constinit os::FutexLock lock;  // guards the table; the books' own is taken under it
constinit SlotTable<Slot> table;

Slot slot_of(const CUarrayMapInfo& operation) {
  Slot slot{};
  const bool is_mipmapped = operation.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  slot.space = is_mipmapped ? Space::mipmapped_array : Space::array;
  slot.array = reinterpret_cast<std::uintptr_t>(operation.resource.array);
  if (operation.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    const auto& tail = operation.subresource.miptail;
    const std::uint64_t place[kPlaceWords] = {tail.layer, tail.offset, tail.size, 0, 0, 0, 0, ~0UL};
    __builtin_memcpy(slot.place, place, sizeof place);
  } else {
    const auto& level = operation.subresource.sparseLevel;
    const std::uint64_t place[kPlaceWords] = {
        level.level,   level.layer,       level.offsetX,      level.offsetY,
        level.offsetZ, level.extentWidth, level.extentHeight, level.extentDepth};
    __builtin_memcpy(slot.place, place, sizeof place);
  }
  return slot;
}

// The number may mean other memory by now.
void drop_reference(const Slot& slot) {
  if (books().birth_of(Space::vmm_handle, slot.handle) != slot.handle_birth) return;
  books().take(Space::vmm_handle, slot.handle);
}

void end_at(const Slot& place) {
  Slot* const found = table.find(place);
  if (found == nullptr) return;
  const Slot gone = *found;
  table.erase(found);
  drop_reference(gone);
}

template <class Is>
void end_all(Is is) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  if (table.size() == 0) return;
  table.erase_if([&](const Slot& slot) {
    if (!is(slot)) return false;
    drop_reference(slot);
    return true;
  });
}

// What finds no place in the table counts until the process ends.
void begin_at(Slot slot, std::uint64_t handle) {
  slot.handle = handle;
  slot.handle_birth = books().birth_of(Space::vmm_handle, handle);
  if (slot.handle_birth == 0) return;
  books().retained(handle);
  Record array;
  int device = kUnknownDevice;
  if (books().find_record(slot.space, slot.array, array, device)) {
    slot.array_birth = array.birth;
    slot.context = array.owner_value;
  }
  end_at(slot);
  table.insert(slot, &os::map_pages);
}

}  // namespace

void done(const CUarrayMapInfo* operations, unsigned count) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  for (unsigned i = 0; i < count; ++i) {
    const Slot slot = slot_of(operations[i]);
    if (operations[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
      begin_at(slot, operations[i].memHandle.memHandle);
    } else {
      end_at(slot);
    }
  }
}

void destroyed(Space space, std::uint64_t array, Birth birth) {
  end_all([&](const Slot& slot) {
    return slot.space == space && slot.array == array && slot.array_birth == birth;
  });
}

void context_ended(std::uint64_t context, Birth before) {
  end_all([&](const Slot& slot) {
    return slot.array_birth != 0 && slot.array_birth <= before && slot.context == context;
  });
}

void start_over_in_child() {
  lock.reset();
  table.forget();
}

}  // namespace nvs::interposer::memory::sparse
