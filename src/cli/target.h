// SPDX-License-Identifier: Apache-2.0
// The program that a user wants to start: where it is, found as a shell finds it, and whether the
// loader will listen to us when it runs.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "cli/early_exit.h"
#include "cli/elf_file.h"

namespace nvs::cli {

struct Target {
  std::string path;
  std::optional<ElfFile> elf;  // none for a script, or if it may not be read
  bool gains_privileges = false;
};

// `search_path` is PATH, if it is set. kExitNotFound and kExitNotExecutable as in env(1).
Outcome<std::string> find_program(const std::string& name,
                                  const std::optional<std::string>& search_path);

struct FileRights {
  mode_t mode;
  uid_t owner;
  gid_t group;
  bool has_capabilities;
};

struct Caller {
  uid_t user;
  gid_t group;
  bool may_gain_privileges;  // not so in most containers
};

// Whether the kernel would give a program rights that its caller does not have. The loader then
// ignores LD_PRELOAD.
bool gains_privileges(const FileRights& file, const Caller& caller);

Target inspect_target(const std::string& path);

// Why this program itself will run as it would without us, if that is so.
std::optional<std::string> why_not_shared(const Target& target, const ElfMachine& ours);

}  // namespace nvs::cli
