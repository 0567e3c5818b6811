// SPDX-License-Identifier: Apache-2.0
// The few functions of libc that the library calls. They are found at run time instead of being
// linked: old systems keep them in libdl and libpthread, which a shell does not load, and new ones
// give them version names that old systems lack.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

namespace nvs::interposer::libc {

// Those of dlfcn.h. The ones that come after ours: another library may interpose them too.
void* next_dlsym(void* handle, const char* name);
void* next_dlvsym(void* handle, const char* name, const char* version);
void* open_loaded(const char* name);  // the library if it is loaded already, never otherwise
void close(void* handle);
void clear_error();  // dlerror, for failures that are none of the program's business
const link_map* object_at(const void* address);

// Those of pthread.h. They do nothing where there are no threads to be had; key_create then fails.
bool key_create(pthread_key_t* key, void (*destructor)(void*));
void set_specific(pthread_key_t key, const void* value);
// A detached thread. The definition that comes first is used, and not libc's own: sanitizers must
// know every thread.
bool create_thread(void* (*run)(void*), void* argument);

// While one of these lives, the thread is not cancelled. It costs 58 instructions, so it stands on
// slow paths only.
class NoCancel {
 public:
  NoCancel();
  ~NoCancel();
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace nvs::interposer::libc
