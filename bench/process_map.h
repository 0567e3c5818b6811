// SPDX-License-Identifier: Apache-2.0
// Where a library lies in a process and how much memory it takes there, read from the tables of
// /proc. Reading is apart from the files so that tests can read text.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace nvs::bench {

struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool contains(std::uint64_t address) const { return begin <= address && address < end; }
  bool operator==(const CodeRange&) const = default;
};

// The executable mappings of all files whose name (without folders) begins so, as in
// /proc/PID/maps.
std::vector<CodeRange> find_code(std::istream& maps, std::string_view name_start);
std::vector<CodeRange> find_code(pid_t pid, std::string_view name_start);

struct LibraryMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t private_dirty_bytes = 0;  // what no other process shares

  bool operator==(const LibraryMemory&) const = default;
};

// Of one file, given with its whole path as in /proc/PID/smaps: its mappings and the memory without
// a name right behind them, where its zeroed variables are. Nothing if it is not mapped.
std::optional<LibraryMemory> find_memory(std::istream& smaps, const std::string& path);
std::optional<LibraryMemory> find_memory(pid_t pid, const std::string& path);

}  // namespace nvs::bench
