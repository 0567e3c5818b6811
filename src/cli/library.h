// SPDX-License-Identifier: Apache-2.0
// Which libnvshare.so a program gets, and whether the loader would really load it: the loader only
// warns about one that it cannot use, and the program would run unshared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/early_exit.h"
#include "cli/elf_file.h"

namespace nvs::cli {

inline constexpr std::string_view kLibraryName = "libnvshare.so";

// Where the library is looked for unless somebody names it, from the folder of this program: in a
// build tree or an installation below one prefix, then where packages put it.
inline constexpr std::string_view kLibraryPlaces[] = {
    "../lib/libnvshare.so",
    "../lib/nvshare/libnvshare.so",
    "/usr/lib/nvshare/libnvshare.so",
};

struct LibraryRequest {
  std::string option;       // --library, or empty
  std::string environment;  // NVSHARE_LIBRARY, or empty
  std::string program_folder;
  std::string working_folder;
};

// An absolute path, because programs change their folder. Whoever names a library gets that one or
// an error, never another.
Outcome<std::string> choose_library(const LibraryRequest& request,
                                    const std::function<bool(const std::string&)>& exists);

// What is wrong with the library at `path`, given what its bytes were found to be.
std::optional<std::string> complaint_about_library(const std::string& path,
                                                   const Result<ElfFile>& file,
                                                   const ElfMachine& ours);

}  // namespace nvs::cli
