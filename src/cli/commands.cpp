// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace nvs::cli {
namespace {

constexpr std::string_view kLettersWithoutQuotes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

std::string shell_word(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kLettersWithoutQuotes) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string help(std::span<const Command> commands) {
  std::string list;
  for (const Command& command : commands) {
    list += fmt::format("  {:<8}{}\n", command.name, command.summary);
  }
  return fmt::format(
      "Lets programs share a GPU, each as if it had all of its memory to itself.\n"
      "Usage: nvshare COMMAND [OPTION...]\n\n"
      "Commands:\n{}\n"
      "Options:\n"
      "  --help     print this and end; nvshare COMMAND --help says more about a command\n"
      "  --version  print the version and end\n\n"
      "Example:\n"
      "  nvshare run -- python3 train.py\n",
      list);
}

// A command line that names no subcommand. What people then mean is `run`, so that is what the
// message shows, with their own words in it.
EarlyExit unknown(const Arguments& arguments) {
  const std::string& first = arguments.front();
  if (first == "--") {
    const Arguments rest(arguments.begin() + 1, arguments.end());
    return {kExitFailed, fmt::format("the word 'run' is missing; write: nvshare run -- {}",
                                     rest.empty() ? "COMMAND" : shell_words(rest))};
  }
  if (first.starts_with('-')) {
    return {kExitFailed, fmt::format("no option {} here; options of run stand after that word: "
                                     "nvshare run [OPTION...] -- COMMAND",
                                     first)};
  }
  return {kExitFailed, fmt::format("no subcommand '{}'; to start that program write: "
                                   "nvshare run -- {}",
                                   first, shell_words(arguments))};
}

}  // namespace

std::string shell_words(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    text += shell_word(argument);
  }
  return text;
}

EarlyExit version_text() { return {kExitOk, fmt::format("nvshare {}\n", NVS_VERSION)}; }

Outcome<Invocation> choose_command(std::span<const Command> commands, const Arguments& arguments) {
  if (arguments.empty()) {
    return failure("say what to do; to start a program: nvshare run -- COMMAND (see --help)");
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") return failure(help(commands), kExitOk);
  if (first == "--version") return tl::unexpected(version_text());
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return first == command.name; });
  if (found == commands.end()) return tl::unexpected(unknown(arguments));
  return Invocation{&*found, Arguments(arguments.begin() + 1, arguments.end())};
}

}  // namespace nvs::cli
