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

// The first option that was given an empty value; empty if there is none. A variable of a script
// that is not set must not be taken for a default, nor an argument that follows for the value.
inline std::string option_without_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // it is a flag
    for (const std::string& value : option->results()) {
      if (value.empty()) return option->get_name();
    }
  }
  return "";
}

// Nothing if the program may go on.
inline std::optional<EarlyExit> parse_arguments(CLI::App& app, std::vector<std::string> arguments) {
  const auto needs_value = [](const std::string& option) {
    return EarlyExit{kExitUsage, option + " needs a value"};
  };
  // CLI11 gives `--name=` the argument after it.
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--") && argument.find('=') + 1 == argument.size()) {
      return needs_value(argument.substr(0, argument.size() - 1));
    }
  }
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
  const std::string empty = option_without_value(app);
  if (!empty.empty()) return needs_value(empty);
  return std::nullopt;
}

}  // namespace nvs
