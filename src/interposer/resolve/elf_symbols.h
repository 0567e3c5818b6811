// SPDX-License-Identifier: Apache-2.0
// Finds a symbol in an object that is already loaded, by reading its ELF tables: the only way to
// the real dlsym when ours is the one that the linker finds. It calls nothing, because it runs
// before sanitizers' run-times are ready, inside their own start-up.
#pragma once

#include <link.h>

namespace nvs::interposer {

// The address of a function that this object defines and exports; null if there is none.
void* defined_in(const link_map& object, const char* name);

// Our own entry in the loader's list of objects; null in a program without a dynamic loader.
const link_map* own_object();
// The first object of the program.
const link_map* first_object();

// The definition that comes after ours in the loader's order, or before it where there is none.
void* defined_elsewhere(const char* name);
// That of libc itself, or of the libraries that were once part of it, whoever else defines it.
void* defined_in_libc(const char* name);

// The object with this SONAME among those that the program was started with, which never go; null
// if it is not seen to be one of them.
const link_map* initial_object(const char* soname);

// The first definition in the objects from `begin` up to and without `end`.
void* first_definition(const link_map* begin, const link_map* end, const char* name);

}  // namespace nvs::interposer
