// SPDX-License-Identifier: Apache-2.0
#include "bench/built_files.h"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "bench/failure.h"

namespace nvs::bench {

namespace fs = std::filesystem;

// The build puts all it makes into one folder: bin/nvshare-bench, lib/libnvshare.so and
// libexec/nvshare-overhead-probe.
fs::path built(const char* name) {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / name;
}

std::string existing(const fs::path& path, const std::string& what) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error) throw Failure(fmt::format("{}: there is no {}", what, path.string()));
  return whole.string();
}

std::string find_library(const std::string& asked) {
  const std::string named = !asked.empty() ? asked : value_of("NVSHARE_LIBRARY");
  return existing(!named.empty() ? fs::path(named) : built("lib/libnvshare.so"),
                  "the library that is to be measured");
}

std::string value_of(const char* variable) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program changes its environment before it reads it
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace nvs::bench
