// SPDX-License-Identifier: Apache-2.0
// Finds the real driver once the program has loaded it, and remembers its functions. Until then the
// library does nothing at all; a process that never loads a driver never gets here.
#pragma once

#include <link.h>

#include "interposer/exports/rows.h"

namespace nvs::interposer {

enum class Attachment {
  absent,    // the program has not loaded this library
  disabled,  // loaded; the user wants nothing hooked
  hooked,
};

// Cheap once the library was found. Never loads anything and holds no lock; a thread that comes
// while another one is in the middle of its first use waits for that. The loader's own lock
// is taken, and dlerror changed, only if the program opened the library at run time.
Attachment attach(Library library);

// The library, if the program was started with it; null if not, or if it is not attached.
const link_map* attached_object(Library library);

// What to give to a program that was given `address`: the hook, if that is the driver's function of
// a hooked row, else the address itself.
void* substitute(void* address);

}  // namespace nvs::interposer
