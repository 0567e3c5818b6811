// SPDX-License-Identifier: Apache-2.0
// Starts a program that belongs to nobody: not to the terminal, not to the caller's job, not to the
// caller's open files, and not as a child that the caller's successor would have to wait for. It
// has every processor and the highest limits that it may have, whatever the caller was bound to.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::cli {

struct DetachedProgram {
  std::vector<std::string> command;  // the first word is the program's path
  int output = -1;                   // becomes its standard output and error
  std::vector<const char*> without;  // variables that it does not inherit
};

// A pidfd of the started program, which is readable once it has ended; empty where the kernel has
// none. Fails if the program cannot be executed.
Result<UniqueFd> start_detached(const DetachedProgram& program);

}  // namespace nvs::cli
