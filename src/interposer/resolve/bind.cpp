// SPDX-License-Identifier: Apache-2.0
// Where a call goes that was linked to one of our exports. Decided at its first call, then stored.
#include <atomic>

#include <dlfcn.h>

#include "cuda_api/cuda.h"
#include "cuda_api/nvml.h"
#include "interposer/exports/hooks.h"
#include "interposer/exports/real.h"
#include "interposer/resolve/attach.h"
#include "interposer/resolve/elf_symbols.h"
#include "interposer/resolve/libc.h"
#include "interposer/resolve/scopes.h"

extern "C" {
extern std::atomic<void*> nvs_linked[nvs::interposer::kRowCount]
    __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) void* nvs_bind(std::uint32_t index, const void* caller);
}

namespace nvs::interposer {
namespace {

// Without us the program would not have started, or would have died here for lack of the symbol.
CUresult cuda_lacks_it() { return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; }
nvmlReturn_t nvml_lacks_it() { return NVML_ERROR_FUNCTION_NOT_FOUND; }

void* missing(Library library) {
  return library == Library::cuda ? reinterpret_cast<void*>(&cuda_lacks_it)
                                  : reinterpret_cast<void*>(&nvml_lacks_it);
}

// Whom a linked call would have reached without us, as far as the global scope goes.
void* next_behind_us(std::size_t index) {
  const link_map* driver = attached_object(kRows[index].library);
  const link_map* own = own_object();
  // Reading the loader's tables takes no lock; see attach.
  if (driver != nullptr && own != nullptr) {
    return first_definition(own->l_next, driver->l_next, kRows[index].name);
  }
  void* next = libc::next_dlsym(RTLD_NEXT, kRows[index].name);
  if (next == nullptr) libc::clear_error();
  return next;
}

// Null: nobody has the function yet.
void* target_of(std::size_t index) {
  const Attachment attachment = attach(kRows[index].library);
  void* driver = real_address(index);
  void* next = next_behind_us(index);
  // Another library wraps the driver behind us: it is called first, as without us, and gets our
  // hook when it looks for the driver.
  if (next != nullptr && next != driver) return next;
  if (driver == nullptr) return nullptr;
  return attachment == Attachment::hooked ? hook_of(index) : driver;
}

}  // namespace
}  // namespace nvs::interposer

void* nvs_bind(std::uint32_t index, const void* caller) {
  using namespace nvs::interposer;
  void* target = target_of(index);
  if (target == nullptr) {
    // A stand-in for the driver that the caller brought along; others may have none or another.
    target = in_callers_scope(caller, kRows[index].name, nullptr);
    libc::clear_error();
    return target != nullptr ? target : missing(kRows[index].library);
  }
  nvs_linked[index].store(target, std::memory_order_release);
  return target;
}
