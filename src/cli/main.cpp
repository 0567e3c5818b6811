// SPDX-License-Identifier: Apache-2.0
// nvshare: what a user types. Each subcommand is a file of its own.
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/early_exit.h"
#include "cli/run_command.h"

namespace nvs::cli {
namespace {

constexpr Command kCommands[] = {
    {"run", "start a program that shares its GPU", run_command},
};

EarlyExit main_with(const Arguments& arguments) {
  const Outcome<Invocation> invocation = choose_command(kCommands, arguments);
  if (!invocation) return invocation.error();
  return invocation->command->run(invocation->arguments);
}

}  // namespace
}  // namespace nvs::cli

int main(int argc, char** argv) {
  const nvs::cli::EarlyExit exit =
      nvs::cli::main_with(nvs::cli::Arguments(argv + (argc > 0 ? 1 : 0), argv + argc));
  if (exit.code != nvs::cli::kExitOk) {
    fmt::print(stderr, "nvshare: {}\n", exit.text);
    return exit.code;
  }
  const bool is_written = std::fputs(exit.text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (is_written) return exit.code;
  fmt::print(stderr, "nvshare: cannot write the output\n");
  return nvs::cli::kExitFailed;
}
