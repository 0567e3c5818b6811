// SPDX-License-Identifier: Apache-2.0
#include "daemon/saved_tenants.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "daemon/environment_text.h"
#include "daemon/identity.h"
#include "wire/run_number.h"

namespace nvs::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProcess = "process:";
constexpr std::string_view kRun = "run:";
constexpr std::string_view kContainer = "container:";
constexpr std::string_view kRunVariable = "NVSHARE_RUN=";

// Nothing: it cannot be read, or there is none.
std::optional<std::string> text_at(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// "process:PID:START"
bool has_process_ended(std::string_view key, const SystemRoots& roots) {
  const std::string_view rest = key.substr(kProcess.size());
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const fs::path process = fs::path(roots.proc) / rest.substr(0, colon);
  const auto stat = text_at(process / "stat");
  if (!stat) return !fs::exists(process);
  const auto start = start_time(*stat);
  return start && colon < rest.size() && std::to_string(*start) != rest.substr(colon + 1);
}

// Runs that have a process, by user; and users of whom not all could be looked at.
struct Runs {
  std::set<std::pair<std::string, std::uint64_t>> alive;
  std::set<std::string, std::less<>> hidden_users;
};

std::uint64_t run_of(std::string_view text) { return wire::parse_run(std::string(text).c_str()); }

void note_run(const fs::path& process, Runs& runs) {
  struct stat facts {};
  if (::stat(process.c_str(), &facts) != 0) return;  // it has ended
  const std::string user = std::to_string(facts.st_uid);
  const auto environment = text_at(process / "environ");
  if (!environment && fs::exists(process)) runs.hidden_users.insert(user);
  if (!environment) return;
  for_each_variable(*environment, [&](std::string_view entry) {
    if (!entry.starts_with(kRunVariable)) return;
    const std::uint64_t run = run_of(entry.substr(kRunVariable.size()));
    if (run != 0) runs.alive.insert({user, run});  // 0 is no run, and what is no number
  });
}

Runs find_runs(const SystemRoots& roots) {
  Runs runs;
  std::error_code error;
  for (fs::directory_iterator next(roots.proc, error), end; !error && next != end;
       next.increment(error)) {
    const std::string name = next->path().filename();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_process) note_run(next->path(), runs);
  }
  if (error) runs.hidden_users.insert("");  // not all were seen
  return runs;
}

// "run:UID:RUN"
bool has_run_ended(std::string_view key, const Runs& runs) {
  const std::string_view rest = key.substr(kRun.size());
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const std::string user(rest.substr(0, colon));
  if (runs.hidden_users.contains("") || runs.hidden_users.contains(user)) return false;
  return colon == rest.size() || !runs.alive.contains({user, run_of(rest.substr(colon + 1))});
}

// Of version 2, and of each controller's of version 1.
std::vector<fs::path> hierarchies(const SystemRoots& roots) {
  std::vector<fs::path> all = {roots.cgroups};
  std::error_code error;
  for (fs::directory_iterator next(roots.cgroups, error), end; !error && next != end;
       next.increment(error)) {
    if (next->is_directory(error)) all.push_back(next->path());
  }
  return all;
}

bool is_in(const std::vector<fs::path>& places, std::string_view path) {
  return std::any_of(places.begin(), places.end(), [&](const fs::path& place) {
    std::error_code error;
    return fs::exists(place.string() + std::string(path), error) || error;
  });
}

// Whether paths of /proc/PID/cgroup can be found there at all: its own can.
bool sees_cgroups(const std::vector<fs::path>& places, const SystemRoots& roots) {
  const auto own = text_at(fs::path(roots.proc) / "self/cgroup");
  if (!own) return false;
  const std::size_t begin = own->find(":/");
  if (begin == std::string::npos) return false;
  const std::size_t end = std::min(own->find('\n', begin), own->size());
  const std::string path = own->substr(begin + 1, end - begin - 1);
  // All hierarchies have a root, whoever sees them, so that it says nothing.
  return path.size() > 1 && path.find("/..") == std::string::npos && is_in(places, path);
}

}  // namespace

void forget_ended_processes(TenantSettingsByKey& tenants, const IsHere& is_here,
                            const SystemRoots& roots) {
  std::erase_if(tenants, [&](const auto& entry) {
    if (!entry.first.starts_with(kProcess) || (is_here && is_here(entry.first))) return false;
    return has_process_ended(entry.first, roots);
  });
}

void forget_ended_groups(TenantSettingsByKey& tenants, const IsHere& is_here,
                         const SystemRoots& roots) {
  const Runs runs = find_runs(roots);
  const std::vector<fs::path> places = hierarchies(roots);
  const bool is_seen = sees_cgroups(places, roots);
  std::erase_if(tenants, [&](const auto& entry) {
    const std::string_view key = entry.first;
    if (is_here(entry.first)) return false;
    if (key.starts_with(kRun)) return has_run_ended(key, runs);
    if (!key.starts_with(kContainer) || !is_seen) return false;
    const std::string_view path = key.substr(kContainer.size());
    return path.find("/..") == std::string_view::npos && !is_in(places, path);
  });
}

}  // namespace nvs::daemon
