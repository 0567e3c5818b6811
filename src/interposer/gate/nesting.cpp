// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/nesting.h"

#include <signal.h>

#include "os/linux_calls.h"

// The linker's: where our own image begins and ends.
extern "C" {
extern const char nvs_image_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char nvs_image_end[] __asm__("_end") __attribute__((visibility("hidden")));
}

namespace nvs::interposer::gate {
namespace {

// A signal handler may run on a stack of its own, above or below the one that it interrupted.
bool came_by_signal_stack(std::uintptr_t marked) {
  stack_t stack{};
  if (os::system_call(SYS_sigaltstack, 0, os::argument(&stack)) != 0) return false;
  if ((stack.ss_flags & SS_ONSTACK) == 0) return false;
  return marked - reinterpret_cast<std::uintptr_t>(stack.ss_sp) >= stack.ss_size;
}

// Under a hook that is inside lies the address to which the driver will return, in our own code.
// If it is not there, the hook has been left. On aarch64 the driver may keep it anywhere.
bool still_has_its_return_address(std::uintptr_t marked) {
#if defined(__x86_64__)
  // Eleven arguments at most: five of them on the stack, padding, and the address.
  constexpr int kWordsMax = 8;
  const auto* words = reinterpret_cast<const std::uintptr_t*>(marked);
  for (int i = 1; i <= kWordsMax; ++i) {
    const std::uintptr_t offset = words[-i] - reinterpret_cast<std::uintptr_t>(nvs_image_begin);
    if (offset < static_cast<std::uintptr_t>(nvs_image_end - nvs_image_begin)) return true;
  }
  return false;
#else
  return marked != 0;
#endif
}

}  // namespace

bool is_nested(std::uintptr_t marked, std::uintptr_t now) {
  if (came_by_signal_stack(marked)) return true;
  // The stack grows down: a call that is nested in another lies below it.
  return marked > now && still_has_its_return_address(marked);
}

}  // namespace nvs::interposer::gate
