// SPDX-License-Identifier: Apache-2.0
// Interposes dlsym itself, as other interposers do, and hands everything on to the next one.
#include <atomic>

#include <dlfcn.h>

namespace {

std::atomic<unsigned> g_count{0};

#if defined(__x86_64__)
constexpr const char* kOldest = "GLIBC_2.2.5";
#else
constexpr const char* kOldest = "GLIBC_2.17";
#endif

}  // namespace

// The return address of the real dlsym is now here, so questions for RTLD_NEXT are asked from here:
// what a wrapper of this kind does wrong, it does with us as without us.
extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  using Dlsym = void*(void*, const char*);
  static auto* const next = reinterpret_cast<Dlsym*>(::dlvsym(RTLD_NEXT, "dlsym", kOldest));
  g_count.fetch_add(1);
  return next(handle, name);
}

extern "C" [[gnu::visibility("default")]] unsigned wrapped_dlsyms() { return g_count.load(); }
