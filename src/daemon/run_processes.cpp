// SPDX-License-Identifier: Apache-2.0
#include "daemon/run_processes.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "daemon/environment_text.h"
#include "daemon/limits.h"
#include "os/file_text.h"

namespace nvs::daemon {
namespace {

namespace fs = std::filesystem;

std::optional<pid_t> pid_of(const std::string& name) {
  pid_t pid = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, pid);
  return error == std::errc{} && rest == end ? std::optional(pid) : std::nullopt;
}

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

bool is_of_run(std::string_view environment, std::string_view folder) {
  constexpr std::string_view kFolder = "NVSHARE_FOLDER=";
  constexpr std::string_view kRun = "NVSHARE_RUN=";
  bool has_folder = false;
  bool has_run = false;
  for_each_variable(environment, [&](std::string_view one) {
    if (one.starts_with(kFolder)) {
      has_folder = without_slashes(one.substr(kFolder.size())) == folder;
    } else if (one.starts_with(kRun)) {
      has_run = one.size() > kRun.size();
    }
  });
  return has_folder && has_run;
}

std::optional<pid_t> look_once(std::string_view folder, const char* proc_root) {
  std::error_code error;
  for (fs::directory_iterator entry(proc_root, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = pid_of(entry->path().filename());
    if (!pid || *pid == ::getpid()) continue;
    // Who has ended, or is another user's, has none that could be read.
    const auto environment = os::read_file(entry->path() / "environ", kEnvironmentBytesMax);
    if (environment && is_of_run(*environment, folder)) return pid;
  }
  return std::nullopt;
}

}  // namespace

std::optional<pid_t> find_run_process(const std::string& folder, const char* proc_root) {
  // A process may hand over to one that has a number which was looked at already.
  const auto found = look_once(without_slashes(folder), proc_root);
  return found ? found : look_once(without_slashes(folder), proc_root);
}

}  // namespace nvs::daemon
