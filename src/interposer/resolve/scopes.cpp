// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/scopes.h"

#include <link.h>

#include "interposer/exports/hooks.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer {
namespace {

// The main program's name is empty.
bool is_library(const link_map* object) {
  return object != nullptr && object->l_name != nullptr && object->l_name[0] != '\0';
}

}  // namespace

void* in_callers_scope(const void* caller, const char* name, const char* version) {
  const link_map* object = libc::object_at(caller);
  if (!is_library(object)) return nullptr;
  void* handle = libc::open_loaded(object->l_name);
  if (handle == nullptr) return nullptr;
  void* address = version != nullptr ? libc::next_dlvsym(handle, name, version)
                                     : libc::next_dlsym(handle, name);
  libc::close(handle);
  return exported_at(address) == kRowCount ? address : nullptr;
}

bool has_scope_of_its_own(const void* caller) { return is_library(libc::object_at(caller)); }

}  // namespace nvs::interposer
