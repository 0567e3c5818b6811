// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/clock.h"

#include <atomic>

#include "interposer/plain_string.h"
#include "interposer/resolve/elf_symbols.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

#if defined(__x86_64__)
constexpr const char* kFunction = "__vdso_clock_gettime";
#else
constexpr const char* kFunction = "__kernel_clock_gettime";
#endif

using Function = int (*)(clockid_t, timespec*);

int by_system_call(clockid_t clock, timespec* time) {
  return static_cast<int>(os::system_call(SYS_clock_gettime, clock, os::argument(time)));
}

Function find() {
  for (const link_map* object = first_object(); object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || !contains(object->l_name, "vdso")) continue;
    if (void* found = defined_in(*object, kFunction)) return reinterpret_cast<Function>(found);
  }
  return &by_system_call;
}

constinit std::atomic<Function> function{nullptr};

}  // namespace

std::int64_t clock_ns() {
  Function ask = function.load(std::memory_order_relaxed);
  if (ask == nullptr) {
    ask = find();
    function.store(ask, std::memory_order_relaxed);
  }
  timespec now{};
  ask(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace nvs::interposer
