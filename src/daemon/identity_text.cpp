// SPDX-License-Identifier: Apache-2.0
// What the kernel's text files say about a process; no system calls.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

#include "daemon/identity.h"
#include "kube/pod.h"

namespace nvs::daemon {
namespace {

constexpr std::size_t kIdDigits = 64;

// One line of /proc/PID/cgroup: a process's place in one hierarchy of cgroups.
struct Place {
  std::string_view controllers;  // empty for version 2
  std::string_view path;
};

// The kernel does not let a line end into a cgroup's name, so that lines are safe to split; colons
// it does, so that only the first two count.
std::vector<Place> places_of(std::string_view text) {
  std::vector<Place> places;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view path = line.substr(second + 1);
    // The cgroup was removed under a process that is still in it.
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    if (!path.starts_with('/')) continue;
    places.push_back({line.substr(first + 1, second - first - 1), path});
  }
  return places;
}

// Which hierarchy is asked first. All processes of a container are at one place in each, but on
// version 1 not every hierarchy has the container.
int rank(const Place& place) {
  constexpr std::array<std::string_view, 4> kOrder = {"", "name=systemd", "devices", "memory"};
  const auto* found = std::find(kOrder.begin(), kOrder.end(), place.controllers);
  return static_cast<int>(found - kOrder.begin());
}

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

// How much of `path` is before the first part that is not also in `own`.
std::size_t common_length(std::string_view path, std::string_view own) {
  std::size_t length = 0;
  while (length < path.size() && length < own.size() && path[length] == '/' && own[length] == '/') {
    const std::string_view part = first_part(path.substr(length + 1));
    if (part.empty() || part != first_part(own.substr(length + 1))) break;
    length += 1 + part.size();
  }
  return length;
}

bool is_digit(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f');
}
bool is_word(char character) {
  return is_digit(character) || (character >= 'g' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

// Exactly 64 digits that are a word of their own, wherever the runtime puts them: alone, between
// "docker-" and ".scope", behind "cri-containerd:"….
std::string_view id_in(std::string_view part) {
  for (std::size_t start = 0; start < part.size();) {
    std::size_t end = start;
    while (end < part.size() && is_word(part[end])) ++end;
    const std::string_view word = part.substr(start, end - start);
    if (word.size() == kIdDigits && std::all_of(word.begin(), word.end(), is_digit)) return word;
    start = end + 1;
  }
  return {};
}

// "pod" and a uid, as the cgroupfs driver has it; the systemd driver makes it
// "kubepods-burstable-pod", the uid with underscores, and ".slice".
std::string pod_uid_in(std::string_view part) {
  constexpr std::string_view kSlice = ".slice";
  // containerd without systemd may put the names of systemd's slices before a colon.
  part = part.substr(0, part.find(':'));
  if (part.ends_with(kSlice)) part.remove_suffix(kSlice.size());
  const std::size_t last = part.rfind("pod");
  if (last == std::string_view::npos) return {};
  // With a cgroup root of the kubelet's own it is "kubelet-kubepods-burstable-pod".
  const bool is_slice = part.starts_with("kubepods-") || part.find("-kubepods-") < last;
  if (last != 0 && (part[last - 1] != '-' || !is_slice)) return {};
  std::string uid(part.substr(last + 3));
  std::replace(uid.begin(), uid.end(), '_', '-');
  return kube::is_pod_uid(uid) ? uid : std::string();
}

std::optional<std::string> container_at(std::string_view path, std::string_view own) {
  std::size_t at = common_length(path, own);
  while (at < path.size()) {
    const std::string_view part = first_part(path.substr(at + 1));
    at += 1 + part.size();
    if (!id_in(part).empty()) return std::string(path.substr(0, at));
  }
  return std::nullopt;
}

// The places of `text`, those first that are asked first.
std::vector<Place> places_in_order(std::string_view text) {
  std::vector<Place> places = places_of(text);
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return rank(a) < rank(b); });
  return places;
}

// A field of /proc/PID/stat, by its number in proc(5), from the fourth on.
std::optional<std::uint64_t> number_in(std::string_view stat, int wanted) {
  // The second field is the program's name in parentheses, which may itself hold spaces and
  // parentheses; what comes after the last one does not.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int field = 3; field <= wanted; ++field) {
    if (!stat.starts_with(' ')) return std::nullopt;
    stat.remove_prefix(1);
    if (field < wanted) stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(stat.data(), stat.data() + stat.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> container_path(std::string_view cgroups, std::string_view own_cgroups) {
  const std::vector<Place> own_places = places_of(own_cgroups);
  for (const Place& place : places_in_order(cgroups)) {
    const auto own = std::find_if(
        own_places.begin(), own_places.end(),
        [&](const Place& candidate) { return candidate.controllers == place.controllers; });
    const std::string_view own_path = own != own_places.end() ? own->path : std::string_view();
    if (auto path = container_at(place.path, own_path)) return path;
  }
  return std::nullopt;
}

std::string_view container_id(std::string_view path) {
  return id_in(path.substr(std::min(path.rfind('/') + 1, path.size())));
}

std::string pod_uid(std::string_view path) {
  // Users can give the cgroups below their own any name.
  if (path.find("/user.slice/") != std::string_view::npos) return {};
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = first_part(path);
    std::string uid = pod_uid_in(part);
    if (!uid.empty()) return uid;
    path.remove_prefix(part.size());
  }
  return {};
}

// The first such slice is systemd's; those below it can be anybody's invention.
std::optional<uid_t> slice_user_of_container(std::string_view path) {
  constexpr std::string_view kBegin = "/user.slice/user-";
  const std::size_t begin = path.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  path.remove_prefix(begin + kBegin.size());
  const std::string_view rest = first_part(path);
  uid_t user = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), user);
  if (error != std::errc() || rest.substr(static_cast<std::size_t>(end - rest.data())) != ".slice")
    return std::nullopt;
  return user;
}

std::optional<uid_t> slice_user_of_process(std::string_view cgroups) {
  for (const Place& place : places_in_order(cgroups)) {
    if (const auto user = slice_user_of_container(place.path)) return user;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> start_time(std::string_view stat) {
  constexpr int kStartField = 22;
  return number_in(stat, kStartField);
}

bool is_ending(std::string_view stat) {
  constexpr int kFlagsField = 9;
  constexpr std::uint64_t kExiting = 4;  // PF_EXITING of the kernel's; a zombie has it as well
  const std::optional<std::uint64_t> flags = number_in(stat, kFlagsField);
  return !flags || (*flags & kExiting) != 0;
}

}  // namespace nvs::daemon
