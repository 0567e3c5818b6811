// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_sim/symbols.h"

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace nvs::sim_test {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             &::pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), size);
  }
  return text;
}

}  // namespace

std::map<std::string, char> exported_symbols(const std::string& library) {
  std::istringstream lines(
      output_of("LC_ALL=C nm --dynamic --defined-only --format=posix '" + library + "'"));
  std::map<std::string, char> symbols;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    char kind = 0;
    words >> name >> kind;
    symbols[name] = kind;
  }
  return symbols;
}

std::set<std::string> needed_libraries(const std::string& library) {
  std::istringstream lines(output_of("LC_ALL=C readelf --dynamic '" + library + "'"));
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const std::size_t begin = line.find('[') + 1;
    needed.insert(line.substr(begin, line.find(']') - begin));
  }
  return needed;
}

std::set<std::string> specified_entry_points() {
  return {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) #symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
  };
}

}  // namespace nvs::sim_test
