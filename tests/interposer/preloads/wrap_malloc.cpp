// SPDX-License-Identifier: Apache-2.0
// Counts allocations, as leak checkers do: the next malloc is found when the first one is needed.
#include <atomic>
#include <cstddef>

#include <dlfcn.h>

namespace {

std::atomic<unsigned long> g_count{0};

}  // namespace

extern "C" [[gnu::visibility("default")]] void* malloc(std::size_t size) {
  using Malloc = void*(std::size_t);
  static auto* const next = reinterpret_cast<Malloc*>(::dlsym(RTLD_NEXT, "malloc"));
  g_count.fetch_add(1);
  return next(size);
}

extern "C" [[gnu::visibility("default")]] unsigned long wrapped_mallocs() { return g_count.load(); }
