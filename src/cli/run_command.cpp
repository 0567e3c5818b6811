// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/elf_file.h"
#include "cli/library.h"
#include "cli/mapped_file.h"
#include "cli/run_options.h"
#include "cli/run_plan.h"
#include "cli/sharing.h"
#include "cli/target.h"

namespace nvs::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kThisProgram = "/proc/self/exe";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<ElfFile> read_elf_file(const std::string& path) {
  const MappedFile file = NVS_TRY(MappedFile::open(path));
  return read_elf(file.bytes());
}

Outcome<ElfMachine> our_machine() {
  const Result<ElfFile> self = read_elf_file(kThisProgram);
  if (self) return self->machine;
  return failure(
      fmt::format("cannot read {}: {}; is /proc mounted?", kThisProgram, self.error().message()));
}

std::string program_folder() {
  std::error_code error;
  return fs::read_symlink(kThisProgram, error).parent_path().string();
}

Outcome<std::string> find_library(const RunOptions& options, const std::string& working_folder,
                                  const ElfMachine& ours) {
  const LibraryRequest request{options.library, variable("NVSHARE_LIBRARY").value_or(""),
                               program_folder(), working_folder};
  const auto exists = [](const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  };
  std::string library = NVS_TRY(choose_library(request, exists));
  if (const auto wrong = complaint_about_library(library, read_elf_file(library), ours)) {
    return failure(*wrong);
  }
  return library;
}

// The library would find out too late, amid the program's own output. Nothing is created here: the
// program may never touch a GPU.
Outcome<void> check_debug_file(const std::string& name) {
  if (name.empty()) return {};
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) {
    return failure(fmt::format("cannot write to {}: it is a folder; name a file in it", name));
  }
  if (::access(name.c_str(), W_OK) == 0) return {};
  const int error = errno;
  const fs::path folder = fs::path(name).parent_path();
  if (error == ENOENT && ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) {
    return {};
  }
  return failure(
      fmt::format("cannot write to {}: {}; name another --debug-file", name, std::strerror(error)));
}

Outcome<RunFacts> look_around(const RunOptions& options) {
  RunFacts facts;
  std::error_code error;
  facts.working_folder = fs::current_path(error).string();
  facts.inherited_preload = variable("LD_PRELOAD").value_or("");
  facts.inherited_memory = variable("NVSHARE_GPU_MEMORY_LIMIT").value_or("");
  facts.inherited_cores = variable("NVSHARE_GPU_CORE_LIMIT").value_or("");
  facts.inherited_of_run = variable("NVSHARE_LIMITS_OF_RUN").value_or("");
  facts.ours = NVS_TRY(our_machine());
  facts.library = NVS_TRY(find_library(options, facts.working_folder, facts.ours));
  facts.target = inspect_target(NVS_TRY(find_program(options.command.front(), variable("PATH"))));
  NVS_TRY(check_debug_file(options.debug_file));
  if (!options.disable) {
    // Last, when nothing else can be wrong: it may start a daemon.
    const SharingRequest request{program_folder(), variable("NVSHARE_FOLDER"),
                                 variable("NVSHARE_RUN"), variable("NVSHARE_PRIORITY"),
                                 variable("PATH")};
    facts.sharing = NVS_TRY(arrange_sharing(options, request));
  }
  return facts;
}

EarlyExit become(const Arguments& command, const Target& target) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // Finds what find_program found, and gives a file that says nothing about itself to /bin/sh.
  ::execvp(argv[0], argv.data());
  const int error = errno;
  if (error == ENOENT) {
    return {kExitNotFound,
            fmt::format("{} cannot be started: its interpreter does not exist", target.path)};
  }
  return {kExitNotExecutable,
          fmt::format("{} cannot be started: {}", target.path, std::strerror(error))};
}

}  // namespace

EarlyExit run_command(const Arguments& arguments) {
  const Outcome<RunOptions> options = parse_run_options(arguments);
  if (!options) return options.error();
  const Outcome<RunFacts> facts = look_around(*options);
  if (!facts) return facts.error();
  const RunPlan plan = plan_run(*options, *facts);
  for (const std::string& warning : plan.warnings) {
    fmt::print(stderr, "nvshare: warning: {}\n", warning);
  }
  for (const Variable& item : plan.environment) {
    if (::setenv(item.name.c_str(), item.value.c_str(), 1) != 0) {
      return {kExitFailed, fmt::format("cannot set {}: {}", item.name, std::strerror(errno))};
    }
  }
  return become(options->command, facts->target);
}

}  // namespace nvs::cli
