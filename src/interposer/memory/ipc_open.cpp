// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/ipc_open.h"

#include <atomic>

#include "interposer/exports/in_context.h"
#include "interposer/memory/hook_support.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {
namespace {

// What one process has mapped together is mapped once, however many allocations in it are opened.
struct Mapped {
  std::uint64_t base;  // 0: free
  std::uint64_t bytes;
  std::uint64_t context;
  int device;
  int users;  // allocations
  session::ShareToken token;
};
struct Opened {
  std::uint64_t address;  // 0: free
  std::uint64_t bytes;
  std::uint32_t times;
  Mapped* mapped;
};
// As many as the daemon keeps pieces for all processes, and several small ones in each.
constexpr int kMappedMax = 2 * wire::kSharedChunksMax;
constexpr int kOpenedMax = 4 * kMappedMax;

constinit os::FutexLock changing;  // one thread opens or closes at a time; it may wait
constinit os::FutexLock lock;      // guards the tables
constinit Mapped mapped[kMappedMax] = {};
constinit Opened opened[kOpenedMax] = {};
constinit std::atomic<int> mapped_used{0};
constinit int mapped_end = 0;  // there are none from here on; nor of the others from there on
constinit int opened_end = 0;

template <class Entry, class Test>
Entry* find(Entry* entries, int end, Test test) {
  for (int i = 0; i < end; ++i) {
    if (test(entries[i])) return &entries[i];
  }
  return nullptr;
}

// A free one; null: there is none.
template <class Entry, int count, class Test>
Entry* find_free(Entry (&entries)[count], int& end, Test is_free) {
  Entry* const old = find(entries, end, is_free);
  if (old != nullptr || end == count) return old;
  return &entries[end++];
}

Opened* opened_at(std::uint64_t address) {
  return find(opened, opened_end,
              [&](const Opened& one) { return address != 0 && one.address == address; });
}
Mapped* mapped_at(std::uint64_t address) {
  return find(mapped, mapped_end,
              [&](const Mapped& one) { return address - one.base < one.bytes; });
}

void unmap(std::uint64_t base, std::uint64_t mapped_bytes, std::uint64_t reserved) {
  if (mapped_bytes != 0) real<Row::cuMemUnmap>()(base, mapped_bytes);
  real<Row::cuMemAddressFree>()(base, reserved);
}

// One chunk at an address; how many bytes it has. 0: it could not be had.
std::uint64_t map_chunk(const IpcTicket& ticket, std::uint32_t index, std::uint64_t address,
                        std::uint64_t room, std::uint32_t& count) {
  session::SharedChunk chunk;
  if (!session::open_shared(ticket.token, index, chunk)) return 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult imported = real<Row::cuMemImportFromShareableHandle>()(
      &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(chunk.file)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  os::close_file(chunk.file);
  if (imported != CUDA_SUCCESS) return 0;
  const bool fits = chunk.bytes <= room &&
                    real<Row::cuMemMap>()(address, chunk.bytes, 0, handle, 0) == CUDA_SUCCESS;
  real<Row::cuMemRelease>()(handle);  // the mapping holds it from now on
  count = chunk.count;
  return fits ? chunk.bytes : 0;
}

bool allow(std::uint64_t base, std::uint64_t bytes, int device) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return real<Row::cuMemSetAccess>()(base, bytes, &access, 1) == CUDA_SUCCESS;
}

// 0 if it cannot be done.
std::uint64_t map_all(const IpcTicket& ticket, int device) {
  CUdeviceptr base = 0;
  const std::uint64_t whole = ticket.mapping_bytes;
  if (real<Row::cuMemAddressReserve>()(&base, whole, 0, 0, 0) != CUDA_SUCCESS) return 0;
  std::uint64_t done = 0;
  std::uint32_t count = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = map_chunk(ticket, i, base + done, whole - done, count);
    if (bytes == 0) break;
    done += bytes;
  }
  if (done == whole && allow(base, whole, device)) return base;
  unmap(base, done, whole);
  return 0;
}

// With `changing` held, so that nobody else maps the same.
Mapped* map_or_find(const IpcTicket& ticket, CUresult& result) {
  Mapped* known = nullptr;
  {
    const os::FutexGuard guard(lock);
    known = find(mapped, mapped_end, [&](const Mapped& one) {
      return one.base != 0 && one.token == ticket.token && one.bytes == ticket.mapping_bytes;
    });
    if (known != nullptr) return known;
    known = find_free(mapped, mapped_end, [](const Mapped& one) { return one.base == 0; });
  }
  CUdevice device = kUnknownDevice;
  const std::uint64_t context = owner_here().value;
  result = real<Row::cuCtxGetDevice>()(&device);
  if (result != CUDA_SUCCESS) return nullptr;
  result = CUDA_ERROR_MAP_FAILED;
  if (known == nullptr) return nullptr;
  const std::uint64_t base = map_all(ticket, device);
  if (base == 0) return nullptr;
  const os::FutexGuard guard(lock);
  *known = {base, ticket.mapping_bytes, context, device, 0, ticket.token};
  mapped_used.fetch_add(1);
  return known;
}

// With the lock held.
void drop(Mapped& one) {
  one = {};
  mapped_used.fetch_sub(1);
}

}  // namespace

CUresult open_memory(const IpcTicket& ticket, CUdeviceptr& address) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(changing);
  CUresult result = CUDA_SUCCESS;
  Mapped* const where = map_or_find(ticket, result);
  if (where == nullptr) return result;
  const os::FutexGuard guard(lock);
  address = where->base + ticket.offset;
  Opened* entry = opened_at(address);
  if (entry == nullptr) {
    entry = find_free(opened, opened_end, [](const Opened& any) { return any.address == 0; });
    if (entry == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *entry = {address, ticket.bytes, 0, where};
    ++where->users;
  }
  ++entry->times;
  return CUDA_SUCCESS;
}

CUresult close_memory(CUdeviceptr address) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(changing);
  Mapped last{};
  {
    const os::FutexGuard guard(lock);
    Opened* const entry = opened_at(address);
    if (entry == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (entry->times > 1 || entry->mapped->users > 1) {
      if (--entry->times == 0) {
        --entry->mapped->users;
        *entry = {};
      }
      return CUDA_SUCCESS;
    }
    last = *entry->mapped;
  }
  // As the driver does: what uses it ends first, in the context in which it was opened.
  const CUresult result = synchronise(reinterpret_cast<CUcontext>(last.context));
  if (result != CUDA_SUCCESS) return result;
  unmap(last.base, last.bytes, last.bytes);
  const os::FutexGuard guard(lock);
  Opened* const entry = opened_at(address);
  if (entry != nullptr) {
    drop(*entry->mapped);
    *entry = {};
  }
  return CUDA_SUCCESS;
}

bool is_opened(std::uint64_t address) {
  if (mapped_used.load(std::memory_order_acquire) == 0) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  return mapped_at(address) != nullptr;
}

bool find_opened(std::uint64_t address, swap::Named& named) {
  if (mapped_used.load(std::memory_order_acquire) == 0) return false;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  const Opened* const entry = find(opened, opened_end, [&](const Opened& one) {
    return one.address != 0 && address - one.address < one.bytes;
  });
  if (entry == nullptr) return false;
  const Mapped& where = *entry->mapped;
  named = {{entry->address, entry->bytes, where.context, where.device},
           where.base,
           where.bytes,
           true,
           true};
  return true;
}

void close_all_of(std::uint64_t context) {
  if (mapped_used.load(std::memory_order_acquire) == 0) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(changing);
  const os::FutexGuard guard(lock);
  for (Mapped& where : mapped) {
    if (where.base == 0 || where.context != context) continue;
    unmap(where.base, where.bytes, where.bytes);
    for (Opened& entry : opened) {
      if (entry.mapped == &where) entry = {};
    }
    drop(where);
  }
}

void forget_opened_in_child() {
  changing.reset();
  lock.reset();
  for (Mapped& where : mapped) where = {};
  for (Opened& entry : opened) entry = {};
  mapped_end = opened_end = 0;
  mapped_used.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::memory
