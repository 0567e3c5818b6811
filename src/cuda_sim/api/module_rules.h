// SPDX-License-Identifier: Apache-2.0
// What modules and libraries have in common: reading code, and the functions in it.
#pragma once

#include <string>

#include "cuda_sim/api/call.h"

namespace nvs::sim {

/// Reads a program image as the driver does: PTX text is parsed, anything else is refused.
/// `message` gets the compiler's complaint, if it has one.
CUresult read_image(const void* image, Code& out, std::string& message);

/// A whole file.
CUresult read_file(const char* path, std::string& out);

/// The function of that name, made when first asked for. Null if the code has none.
std::shared_ptr<Function> find_function(Driver& d, Module& module, const std::string& name);

/// A module of a library's code in a context, made when first needed.
Module& module_in(Driver& d, Library& library, Context& context);

/// A variable of the module, put into memory when first asked for. Fails if the code has none of
/// that name.
CUresult find_global(Driver& d, Module& module, const std::string& name, GlobalPlace& out);

/// Takes the module with its functions and variables from the program. Work in flight may still
/// refer to its code, which stays.
void unload(Driver& d, const std::shared_ptr<Module>& module);

std::shared_ptr<Function> new_function(Driver& d, const PtxEntry& entry);

}  // namespace nvs::sim
