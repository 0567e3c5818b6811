// SPDX-License-Identifier: Apache-2.0
// What a shared library shows to the dynamic linker, as the tools of the toolchain print it.
#pragma once

#include <map>
#include <set>
#include <string>

namespace nvs::sim_test {

/// Each symbol that it exports, and nm's letter for its kind.
std::map<std::string, char> exported_symbols(const std::string& library);

/// The libraries it needs.
std::set<std::string> needed_libraries(const std::string& library);

/// Every entry point that the driver is to have.
std::set<std::string> specified_entry_points();

}  // namespace nvs::sim_test
