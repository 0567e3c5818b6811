// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/known.h"

#include <atomic>

#include "interposer/exports/in_context.h"
#include "interposer/exports/real.h"
#include "interposer/gate/gate.h"
#include "interposer/session/contexts.h"
#include "os/futex_lock.h"

namespace nvs::interposer::swap {
namespace {

struct Mapping {
  std::uint64_t begin;
  std::uint64_t known_end;  // all before it was told to the driver, whatever it made of it
  std::uint64_t end;
};
constexpr int kMappingsMax = 4096;

// Held while the driver is told: two threads would wait for each other in there anyway.
constinit os::FutexLock known_lock;
// Threads that need a piece now. Whoever goes on and on leaves the lock to them.
constinit std::atomic<int> needing{0};
constinit Mapping mappings[kMappingsMax] = {};
constinit int mapping_count = 0;
constinit int first_unknown = 0;  // all before it are known

// Any context will do: what is known is known to all of them. Calls `tell` in one after the other,
// until it says that it is done.
template <class Tell>
bool in_any_context(Tell tell) {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    for (int i = 0; i < contexts::kContextsMax; ++i) {
      CUcontext context = nullptr;
      if (!contexts::take(i, gpu, context, contexts::Use::working)) continue;
      bool done = false;
      {
        const InContext current(context);
        done = current.is_set() && tell();
      }
      contexts::give_back(i, contexts::Use::working);
      if (done) return true;
    }
  }
  return false;
}

void tell_driver(std::uint64_t address, std::uint64_t bytes) {
  const auto tell = real<Row::cuMemHostRegister_v2>();
  if (tell == nullptr) return;
  auto* const pages = reinterpret_cast<void*>(address);
  in_any_context([&] { return tell(pages, bytes, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS; });
}

// False: it may know it still. It does not if it never took it, or if that went with a context.
bool untell_driver(std::uint64_t address) {
  const auto untell = real<Row::cuMemHostUnregister>();
  if (untell == nullptr) return false;
  bool is_unknown = false;
  const bool is_done = in_any_context([&] {
    const CUresult result = untell(reinterpret_cast<void*>(address));
    is_unknown = is_unknown || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return result == CUDA_SUCCESS;
  });
  return is_done || is_unknown;
}

int index_of(std::uint64_t address) {
  for (int i = 0; i < mapping_count; ++i) {
    if (mappings[i].begin == address) return i;
  }
  return -1;
}

void make_piece_known(Mapping& mapping) {
  const std::uint64_t next = (mapping.known_end / kKnownPiece + 1) * kKnownPiece;
  const std::uint64_t end = next < mapping.end ? next : mapping.end;
  tell_driver(mapping.known_end, end - mapping.known_end);
  mapping.known_end = end;
}

}  // namespace

void add_unknown(std::uint64_t address, std::uint64_t bytes) {
  const os::FutexGuard guard(known_lock);
  if (mapping_count == kMappingsMax) return;
  mappings[mapping_count++] = {address, address, address + bytes};
}

Known make_next_known() {
  if (needing.load(std::memory_order_relaxed) != 0) return Known::not_now;
  const os::FutexGuard guard(known_lock);
  while (first_unknown < mapping_count) {
    Mapping& mapping = mappings[first_unknown];
    if (mapping.known_end < mapping.end) {
      make_piece_known(mapping);
      return Known::one_more;
    }
    ++first_unknown;
  }
  return Known::all;
}

void make_known(std::uint64_t address, std::uint64_t bytes) {
  needing.fetch_add(1, std::memory_order_relaxed);
  {
    const os::FutexGuard guard(known_lock);
    for (int i = first_unknown; i < mapping_count; ++i) {
      Mapping& mapping = mappings[i];
      if (address < mapping.begin || address >= mapping.end) continue;
      while (mapping.known_end < mapping.end && mapping.known_end < address + bytes) {
        make_piece_known(mapping);
      }
    }
  }
  needing.fetch_sub(1, std::memory_order_relaxed);
}

Forgot forget_piece(std::uint64_t address) {
  if (needing.load(std::memory_order_relaxed) != 0) return Forgot::nothing;
  const os::FutexGuard guard(known_lock);
  const int index = index_of(address);
  if (index < 0) return Forgot::all;  // it was never written down
  Mapping& mapping = mappings[index];
  mapping.end = mapping.known_end;
  if (mapping.known_end > mapping.begin) {
    const std::uint64_t aligned = (mapping.known_end - 1) / kKnownPiece * kKnownPiece;
    const std::uint64_t piece = aligned > mapping.begin ? aligned : mapping.begin;
    if (!untell_driver(piece)) return Forgot::nothing;
    mapping.known_end = mapping.end = piece;
  }
  if (mapping.known_end > mapping.begin) return Forgot::some;
  mapping = mappings[--mapping_count];
  first_unknown = 0;
  return Forgot::all;
}

void forget_known_in_child() {
  known_lock.reset();
  mapping_count = first_unknown = 0;
  needing.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::swap
