// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/mapped_file.h"

namespace nvs::cli {
namespace {

// What execvp(3) uses where PATH is not set.
constexpr std::string_view kSearchPathIfUnset = "/bin:/usr/bin";

// What exec would say about a file, and whether it is there for all we can see.
struct Sight {
  bool seen;
  int error;  // 0: it can be started
};

Sight look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {false, errno};
  if (S_ISDIR(status.st_mode)) return {true, EISDIR};
  if (!S_ISREG(status.st_mode)) return {true, EACCES};
  return {true, ::access(path.c_str(), X_OK) == 0 ? 0 : errno};
}

tl::unexpected<EarlyExit> not_executable(const std::string& path, int error) {
  const bool may_not = error == EACCES;
  return failure(fmt::format("{} cannot be started: {}{}", path, std::strerror(error),
                             may_not ? "; make it executable, or name its interpreter" : ""),
                 kExitNotExecutable);
}

tl::unexpected<EarlyExit> not_found(const std::string& name, const char* advice) {
  return failure(fmt::format("no program '{}'; {}", name, advice), kExitNotFound);
}

}  // namespace

Outcome<std::string> find_program(const std::string& name,
                                  const std::optional<std::string>& search_path) {
  if (name.empty()) return not_found(name, "the command is an empty word");
  if (name.find('/') != std::string::npos) {
    const Sight file = look_at(name);
    if (file.error == 0) return name;
    if (file.error == ENOENT || file.error == ENOTDIR) return not_found(name, "check the path");
    return not_executable(name, file.error);
  }
  std::optional<std::string> useless;
  int useless_error = 0;
  std::string_view folders = search_path ? std::string_view(*search_path) : kSearchPathIfUnset;
  for (bool more = true; more;) {
    const std::size_t end = folders.find(':');
    const std::string_view folder = folders.substr(0, end);
    more = end != std::string_view::npos;
    folders.remove_prefix(more ? end + 1 : folders.size());
    // An empty entry is the current folder: old, and still so in every shell.
    const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    const Sight file = look_at(path);
    if (file.error == 0) return path;
    // As in a shell, a folder of PATH into which one may not look is one where nothing was found.
    if (file.seen && file.error != EISDIR && !useless) {
      useless = path;
      useless_error = file.error;
    }
  }
  if (useless) return not_executable(*useless, useless_error);
  return not_found(name, "it is in no folder of PATH: check the name, or give its path");
}

bool gains_privileges(const FileRights& file, const Caller& caller) {
  if (!caller.may_gain_privileges) return false;
  const bool becomes_owner = (file.mode & S_ISUID) != 0 && file.owner != caller.user;
  // Without the right to execute, the set-group bit once meant something else and does nothing now.
  const bool joins_group =
      (file.mode & S_ISGID) != 0 && (file.mode & S_IXGRP) != 0 && file.group != caller.group;
  return becomes_owner || joins_group || (file.has_capabilities && caller.user != 0);
}

Target inspect_target(const std::string& path) {
  Target target{path, std::nullopt, false};
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    const bool capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
    const bool may_gain = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
    target.gains_privileges =
        gains_privileges({status.st_mode, status.st_uid, status.st_gid, capabilities},
                         {::getuid(), ::getgid(), may_gain});
  }
  // A program that may be started but not read says nothing about itself; it is started anyway.
  if (const Result<MappedFile> file = MappedFile::open(path)) {
    if (Result<ElfFile> elf = read_elf(file->bytes())) {
      target.elf = *std::move(elf);
    } else {
      target.gains_privileges = false;  // a script: the kernel ignores its rights
    }
  }
  return target;
}

std::optional<std::string> why_not_shared(const Target& target, const ElfMachine& ours) {
  if (target.gains_privileges) {
    return "it runs with rights of its own, and the loader then preloads nothing; if it starts "
           "your program, put it in front, as in: sudo nvshare run -- COMMAND";
  }
  if (!target.elf) return std::nullopt;
  if (target.elf->machine != ours) {
    return fmt::format("it is a program for {} and the library is for {}",
                       machine_name(target.elf->machine), machine_name(ours));
  }
  if (target.elf->is_static()) {
    return "it is statically linked, so nothing can be loaded into it; programs that it starts are "
           "shared";
  }
  return std::nullopt;
}

}  // namespace nvs::cli
