// SPDX-License-Identifier: Apache-2.0
#include "cli/library.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/preload.h"

namespace nvs::cli {
namespace {

std::string path_from(const std::string& folder, std::string_view path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

}  // namespace

Outcome<std::string> choose_library(const LibraryRequest& request,
                                    const std::function<bool(const std::string&)>& exists) {
  const bool by_option = !request.option.empty();
  const std::string& named = by_option ? request.option : request.environment;
  if (!named.empty()) {
    const std::string path = path_from(request.working_folder, named);
    if (exists(path)) return path;
    return failure(
        fmt::format("no library {}: correct {}, or leave it out to use the installed one", path,
                    by_option ? "--library" : "NVSHARE_LIBRARY"));
  }
  std::vector<std::string> places;
  for (const std::string_view place : kLibraryPlaces) {
    places.push_back(path_from(request.program_folder, place));
    if (exists(places.back())) return places.back();
  }
  return failure(fmt::format("{} is not installed (looked for {}): name it with --library FILE",
                             kLibraryName, fmt::join(places, ", ")));
}

std::optional<std::string> complaint_about_library(const std::string& path,
                                                   const Result<ElfFile>& file,
                                                   const ElfMachine& ours) {
  if (!can_be_preloaded(path)) {
    return fmt::format(
        "the loader cannot be given {}: its path has a space, a colon or a dollar sign; move the "
        "library, or make a link to it elsewhere and name that with --library",
        path);
  }
  if (!file) {
    return fmt::format("{} cannot be loaded: {}; name another with --library", path,
                       file.error().message());
  }
  if (file->machine != ours) {
    return fmt::format("{} is for {} and this machine is {}; name another with --library", path,
                       machine_name(file->machine), machine_name(ours));
  }
  if (!file->shared_object || file->program) {
    return fmt::format("{} is not a shared library; name another with --library", path);
  }
  return std::nullopt;
}

}  // namespace nvs::cli
