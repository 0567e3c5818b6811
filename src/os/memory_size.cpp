// SPDX-License-Identifier: Apache-2.0
#include "os/memory_size.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace nvs::os {
namespace {

// The number that the text begins with, after blanks.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> machine_memory(const std::string& root, std::string_view key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto kib = leading_number(std::string_view(line).substr(key.size()));
    if (kib) return *kib << 10U;
  }
  return std::nullopt;
}

// Of a cgroup and of all above it: the least counts. Inside a container the path may be that of the
// host, and the folder the container's own: then only the last step finds a file. "max" is no
// number.
std::uint64_t least_limit(const std::string& folder, std::string path, const char* file_name,
                          std::uint64_t least) {
  while (true) {
    std::ifstream file(folder + path + "/" + file_name);
    std::string line;
    if (std::getline(file, line)) least = std::min(least, leading_number(line).value_or(least));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

// A list of words with commas between them.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> memory_size(const std::string& root) {
  const auto machine = machine_memory(root, "MemTotal:");
  if (!machine) return std::nullopt;
  std::uint64_t least = *machine;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {  // version 2
      least = least_limit(root + "/sys/fs/cgroup", path, "memory.max", least);
    } else if (has_word(controllers, "memory")) {
      least = least_limit(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", least);
    }
  }
  return least;
}

std::optional<std::uint64_t> memory_available(const std::string& root) {
  return machine_memory(root, "MemAvailable:");
}

}  // namespace nvs::os
