// SPDX-License-Identifier: Apache-2.0
// What the command lines of our daemons have in common: how CLI11 is asked, and how help begins.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/early_exit.h"

namespace nvs {

// Programs without commands: they have options, and that is said in one line.
class OptionsHelp : public CLI::Formatter {
 public:
  explicit OptionsHelp(std::string program) : program_(std::move(program)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + program_ + " [OPTION...]\n";
  }

 private:
  std::string program_;
};

// Nothing if the program may go on.
inline std::optional<EarlyExit> parse_arguments(CLI::App& app, std::vector<std::string> arguments) {
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return EarlyExit{kExitUsage, error.what()};
  }
  return std::nullopt;
}

}  // namespace nvs
