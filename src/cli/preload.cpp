// SPDX-License-Identifier: Apache-2.0
#include "cli/preload.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/library.h"

namespace nvs::cli {
namespace {

constexpr std::string_view kSeparators = " :";
// GCC's names and clang's; what follows is a version or an architecture.
constexpr std::string_view kAddressSanitizers[] = {"libasan.so", "libclang_rt.asan"};
constexpr std::string_view kThreadSanitizers[] = {"libtsan.so", "libclang_rt.tsan"};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_one_of(std::span<const std::string_view> names, std::string_view path) {
  const std::string_view name = file_name(path);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> entries;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(kSeparators), list.size());
    if (end > 0) entries.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return entries;
}

}  // namespace

bool is_sanitizer_runtime(std::string_view path) {
  return is_one_of(kAddressSanitizers, path) || is_one_of(kThreadSanitizers, path);
}

bool can_be_preloaded(std::string_view path) {
  return path.find_first_of(kSeparators) == std::string_view::npos &&
         path.find('$') == std::string_view::npos;
}

std::string compose_preload(std::string_view inherited, const std::string& library,
                            std::span<const std::string> needed) {
  std::vector<std::string> first;
  std::vector<std::string> rest;
  for (std::string& entry : split(inherited)) {
    if (is_sanitizer_runtime(entry)) {
      first.push_back(std::move(entry));
    } else if (entry != library && file_name(entry) != kLibraryName) {
      // Two copies of the library in one process would account for everything twice, so another
      // one gives way as well, wherever it is from.
      rest.push_back(std::move(entry));
    }
  }
  // A program that needs AddressSanitizer's runtime refuses to start if we come before it. That of
  // ThreadSanitizer does not mind, and is left out of the list because children inherit that.
  const auto runtime = std::find_if(needed.begin(), needed.end(), [](const std::string& name) {
    return is_one_of(kAddressSanitizers, name);
  });
  const bool have_one = std::any_of(first.begin(), first.end(), [](const std::string& entry) {
    return is_one_of(kAddressSanitizers, entry);
  });
  if (runtime != needed.end() && !have_one) first.push_back(*runtime);
  first.push_back(library);
  first.insert(first.end(), rest.begin(), rest.end());
  return fmt::format("{}", fmt::join(first, ":"));
}

}  // namespace nvs::cli
