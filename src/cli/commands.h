// SPDX-License-Identifier: Apache-2.0
// Which subcommand a command line means. A new one is a file of its own and a row in main.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/early_exit.h"

namespace nvs::cli {

using Arguments = std::vector<std::string>;

struct Command {
  const char* name;
  const char* summary;
  // Returns only if the program ends here: `run` becomes another program when all goes well.
  EarlyExit (*run)(const Arguments& arguments);
};

struct Invocation {
  const Command* command;
  Arguments arguments;  // those after the subcommand's name
};

Outcome<Invocation> choose_command(std::span<const Command> commands, const Arguments& arguments);

// What --version prints, here and after any subcommand.
EarlyExit version_text();

// Arguments as one would type them into a shell, for messages that show the right form.
std::string shell_words(const Arguments& arguments);

}  // namespace nvs::cli
