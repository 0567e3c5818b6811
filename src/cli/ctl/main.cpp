// SPDX-License-Identifier: Apache-2.0
// nvsharectl: shows and steers how programs share the GPUs of this machine.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/ctl/commands.h"
#include "cli/ctl/exit_codes.h"
#include "cli/ctl/options.h"

namespace nvs::cli {
namespace {

struct CtlCommand {
  std::string_view name;
  EarlyExit (*run)(const CtlOptions& options);
};

constexpr CtlCommand kCtlCommands[] = {
    {"status", status_command},         {"top", top_command},      {"set", set_command},
    {"pause", pause_command},           {"resume", pause_command}, {"trace", trace_command},
    {"completion", completion_command},
};

EarlyExit ctl_main(const Arguments& arguments) {
  const Outcome<CtlOptions> options = parse_ctl_options(arguments);
  if (!options) return options.error();
  const auto* const command =
      std::find_if(std::begin(kCtlCommands), std::end(kCtlCommands),
                   [&](const CtlCommand& row) { return row.name == options->command; });
  if (command == std::end(kCtlCommands)) return {kCtlUsage, "no command " + options->command};
  return command->run(*options);
}

// Output that did not arrive is a failure: a full disk must not look like an empty table.
int print(const EarlyExit& exit) {
  if (exit.code == kExitOk) {
    const bool written =
        std::fwrite(exit.text.data(), 1, exit.text.size(), stdout) == exit.text.size() &&
        std::fflush(stdout) == 0;
    if (written) return kExitOk;
    std::fputs("nvsharectl: cannot write the output\n", stderr);
    return kCtlFailed;
  }
  if (!exit.text.empty()) std::fprintf(stderr, "nvsharectl: %s\n", exit.text.c_str());
  return exit.code;
}

}  // namespace
}  // namespace nvs::cli

int main(int argc, char** argv) {
  using namespace nvs::cli;
  return print(ctl_main(Arguments(argv + (argc > 0 ? 1 : 0), argv + argc)));
}
