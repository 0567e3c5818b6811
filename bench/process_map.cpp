// SPDX-License-Identifier: Apache-2.0
#include "bench/process_map.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace nvs::bench {
namespace {

// The first line of a mapping: "begin-end permissions offset device inode   path".
struct Mapping {
  CodeRange range;
  std::string permissions;
  std::string path;
};

std::optional<Mapping> parse_mapping(const std::string& line) {
  Mapping mapping;
  std::istringstream words(line);
  char dash = 0;
  std::string offset, device, inode;
  words >> std::hex >> mapping.range.begin >> dash >> mapping.range.end >> mapping.permissions >>
      offset >> device >> inode;
  if (!words || dash != '-') return std::nullopt;
  std::getline(words >> std::ws, mapping.path);
  return mapping;
}

// A line of smaps below a mapping: "Rss:     12 kB".
std::uint64_t parse_bytes(const std::string& line, const std::string& key) {
  if (line.rfind(key, 0) != 0) return 0;
  return std::stoull(line.substr(key.size())) * 1024;
}

std::ifstream open_table(pid_t pid, const char* name) {
  return std::ifstream(fmt::format("/proc/{}/{}", pid, name));
}

}  // namespace

std::vector<CodeRange> find_code(std::istream& maps, std::string_view name_start) {
  std::vector<CodeRange> result;
  for (std::string line; std::getline(maps, line);) {
    const std::optional<Mapping> mapping = parse_mapping(line);
    if (!mapping || mapping->permissions.find('x') == std::string::npos) continue;
    const std::size_t slash = mapping->path.rfind('/');
    if (slash == std::string::npos) continue;
    if (mapping->path.compare(slash + 1, name_start.size(), name_start) != 0) continue;
    result.push_back(mapping->range);
  }
  return result;
}

std::vector<CodeRange> find_code(pid_t pid, std::string_view name_start) {
  std::ifstream maps = open_table(pid, "maps");
  return find_code(maps, name_start);
}

std::optional<LibraryMemory> find_memory(std::istream& smaps, const std::string& path) {
  LibraryMemory memory;
  bool found = false;
  bool counts = false;
  std::uint64_t end = 0;  // of the mapping before, if that counts
  for (std::string line; std::getline(smaps, line);) {
    if (const std::optional<Mapping> mapping = parse_mapping(line)) {
      const bool own = mapping->path == path;
      counts = own || (mapping->path.empty() && mapping->range.begin == end);
      found = found || own;
      end = own ? mapping->range.end : 0;
    } else if (counts) {
      memory.resident_bytes += parse_bytes(line, "Rss:");
      memory.private_dirty_bytes += parse_bytes(line, "Private_Dirty:");
    }
  }
  if (!found) return std::nullopt;
  return memory;
}

std::optional<LibraryMemory> find_memory(pid_t pid, const std::string& path) {
  std::ifstream smaps = open_table(pid, "smaps");
  return find_memory(smaps, path);
}

}  // namespace nvs::bench
