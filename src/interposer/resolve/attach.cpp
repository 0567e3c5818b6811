// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/attach.h"

#include <atomic>

#include "interposer/debug/log.h"
#include "interposer/exports/hooks.h"
#include "interposer/exports/real.h"
#include "interposer/gate/gate.h"
#include "interposer/memory/books.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/green_contexts.h"
#include "interposer/memory/ipc_open.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/sparse_maps.h"
#include "interposer/memory/unified/use.h"
#include "interposer/resolve/elf_symbols.h"
#include "interposer/resolve/libc.h"
#include "interposer/resolve/once.h"
#include "interposer/resolve/settings.h"
#include "interposer/session/session.h"

extern "C" {
// Of libc, since 2.3.2: what pthread_atfork calls, and how it names a library.
int nvs_register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                        void* library) __asm__("__register_atfork");
extern void* nvs_dso_handle __asm__("__dso_handle") __attribute__((visibility("hidden")));
extern char** environ;
}

namespace nvs::interposer {
namespace {

constexpr const char* kFiles[] = {"libcuda.so.1", "libnvidia-ml.so.1"};
constinit std::atomic<Attachment> attachments[2] = {};
constinit std::atomic<const link_map*> objects[2] = {};

// The child of a fork has one thread and no CUDA: the driver refuses everything there. What its
// parent's threads held is nobody's.
void start_over_in_child() {
  gate::start_over_in_child();
  session::start_over_in_child();
  memory::books_after_fork();
  memory::graphs::start_over_in_child();
  memory::sparse::start_over_in_child();
  memory::forget_greens_in_child();
  memory::forget_samples_in_child();
  memory::forget_shares_in_child();
  memory::forget_opened_in_child();
  session::forget_shared_in_child();
  debug::stop_in_child();
}

// What is done once in a process, whichever library comes first. Nobody else goes on before that: a
// GPU that was used by then would never be shared.
void begin(const Settings& settings) {
  static constinit Once once;
  if (!once.begin()) return;
  nvs_register_atfork(nullptr, nullptr, &start_over_in_child, &nvs_dso_handle);
  if (settings.debug) debug::start(settings.debug_file);
  unified::configure(settings.oversubscribe);
  session::configure(settings);
  once.end();
}

template <class Find>
void fill_real(Library library, Find find) {
  for (std::size_t i = 0; i < kRowCount; ++i) {
    if (kRows[i].library != library) continue;
    nvs_real[i].store(find(kRows[i].name), std::memory_order_relaxed);
  }
}

// Without the loader: a linked program's first call may come from a thread for which another one
// waits, holding the loader's lock.
bool fill_from_initial_object(Library library) {
  const auto index = static_cast<std::size_t>(library);
  const link_map* object = initial_object(kFiles[index]);
  if (object == nullptr) return false;
  fill_real(library, [object](const char* name) { return defined_in(*object, name); });
  objects[index].store(object, std::memory_order_relaxed);
  return true;
}

// The handle stays open: our tables point into the library, so it must not go.
bool fill_from_opened_library(Library library) {
  void* handle = libc::open_loaded(kFiles[static_cast<std::size_t>(library)]);
  if (handle != nullptr) {
    fill_real(library, [handle](const char* name) { return libc::next_dlsym(handle, name); });
  }
  libc::clear_error();
  return handle != nullptr;
}

}  // namespace

Attachment attach(Library library) {
  std::atomic<Attachment>& place = attachments[static_cast<std::size_t>(library)];
  const Attachment known = place.load(std::memory_order_acquire);
  if (known != Attachment::absent) return known;
  if (!fill_from_initial_object(library) && !fill_from_opened_library(library)) {
    return Attachment::absent;
  }
  const Settings settings = read_settings(environ);
  const Attachment found = settings.disabled ? Attachment::disabled : Attachment::hooked;
  if (found == Attachment::hooked) begin(settings);
  place.store(found, std::memory_order_release);
  return found;
}

const link_map* attached_object(Library library) {
  return objects[static_cast<std::size_t>(library)].load(std::memory_order_relaxed);
}

void* substitute(void* address) {
  if (address == nullptr) return nullptr;
  for (std::size_t i = 0; i < kRowCount; ++i) {
    if (real_address(i) != address) continue;
    // Two names may stand for one function, and only one of them be hooked.
    if (void* hook = hook_of(i)) return hook;
  }
  return address;
}

}  // namespace nvs::interposer
