// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <cstddef>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/byte_size.h"

namespace nvs::cli {
namespace {

constexpr const char* kDescription =
    "Starts a program with libnvshare.so loaded into it and into whatever it starts in turn, so "
    "that it shares its GPU.\nnvshare becomes the program: same process, input, output, signals, "
    "folder and exit code.\nIt shares through the node's daemon, or where there is none through "
    "one of this user's, which is started if need be and goes with its last program.";

constexpr const char* kFooter =
    "The daemon: in NVSHARE_FOLDER if that is set, else in /var/run/nvshare, else in "
    "$XDG_RUNTIME_DIR/nvshare\nor /tmp/nvshare-UID. All that one `nvshare run` starts is one "
    "tenant. "
    "One inside another belongs to the\nouter one: it keeps its daemon and tenant, and changes the "
    "priority only if asked to.\n\n"
    "Exit codes: the program's own, or 125 nvshare failed, 126 the program cannot be started, 127 "
    "there is no such program.\n\n"
    "Examples:\n"
    "  nvshare run -- python3 train.py --epochs 3\n"
    "  nvshare run -- sh -c './prepare && ./train'           all of them share\n"
    "  nvshare run --priority high -- ./serve                goes first\n"
    "  nvshare run --memory 4Gi --cores 40 -- ./train        no more of each GPU than this\n"
    "  nvshare run --debug-file memory.txt -- ./train        what it allocated\n"
    "  nvshare run --disable -- ./train                      is it nvshare? run it without\n"
    "  nvshare run --library ./build/lib/libnvshare.so -- ./train\n";

constexpr const char* kUsage = "Usage: nvshare run [OPTION...] [--] COMMAND [ARGUMENT...]\n";

class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return kUsage; }
};

void declare(CLI::App& app, RunOptions& options) {
  app.add_flag("--debug", options.debug, "let the library report on itself (sets NVSHARE_DEBUG=1)");
  app.add_option("--debug-file", options.debug_file,
                 "where to, in place of /tmp/nvshare-PID.log; %p becomes the process id (sets "
                 "NVSHARE_DEBUG_FILE; implies --debug)")
      ->type_name("FILE")
      ->take_last();
  app.add_flag("--disable", options.disable,
               "load the library but switch it off, to compare (sets NVSHARE_DISABLE=1)");
  app.add_option("--library", options.library,
                 "the library to load, in place of the installed one (or set NVSHARE_LIBRARY)")
      ->type_name("FILE")
      ->take_last();
  app.add_option("--priority", options.priority,
                 "low, normal or high: who goes first (sets NVSHARE_PRIORITY)")
      ->type_name("WORD")
      ->take_last();
  app.add_option("--memory", options.memory,
                 "how much of each GPU's memory it may have, with all that it starts: 4Gi, 4G, "
                 "512MiB, bytes, or 25% (sets NVSHARE_GPU_MEMORY_LIMIT)")
      ->type_name("SIZE")
      ->take_last();
  app.add_option("--cores", options.cores,
                 "how much of each GPU's time, likewise: 1 to 100 percent (sets "
                 "NVSHARE_GPU_CORE_LIMIT)")
      ->type_name("PERCENT")
      ->take_last();
  app.add_flag("--no-daemon", options.no_daemon,
               "start no daemon: where none runs, the program does not share");
  app.set_help_flag("-h,--help", "print this and end");
  app.set_version_flag("--version", version_text().text, "print the version and end");
}

// How many of the arguments are ours. The command begins after "--", or with the first word that is
// neither an option nor an option's value.
std::size_t count_ours(const CLI::App& app, const Arguments& arguments) {
  std::size_t index = 0;
  while (index < arguments.size()) {
    const std::string& word = arguments[index];
    if (word == "--" || word.size() < 2 || word[0] != '-') return index;
    const CLI::Option* option = app.get_option_no_throw(word);
    const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
    const bool has_value =
        takes_value && index + 1 < arguments.size() && arguments[index + 1] != "--";
    index += has_value ? 2 : 1;
  }
  return index;
}

std::string complaint(const CLI::App& app, const RunOptions& options) {
  for (const char* name : {"--debug-file", "--library"}) {
    if (app.count(name) > 0 && app.get_option(name)->as<std::string>().empty()) {
      return fmt::format("{} needs the name of a file", name);
    }
  }
  if (app.count("--priority") > 0 && !is_priority(options.priority)) {
    return fmt::format("no priority '{}': use low, normal or high", options.priority);
  }
  if (app.count("--memory") > 0 && !parse_memory(options.memory)) {
    return fmt::format("--memory '{}' is no size: write {}", options.memory, kMemoryForms);
  }
  if (app.count("--cores") > 0 && !parse_cores(options.cores)) {
    return fmt::format("--cores '{}' is no share: write {}", options.cores, kCoresForms);
  }
  if (options.disable && options.debug) {
    return "--disable switches the library off, so --debug would show nothing: leave one out";
  }
  if (options.command.empty()) {
    return "no command to start; write: nvshare run [OPTION...] -- COMMAND [ARGUMENT...]";
  }
  return "";
}

}  // namespace

bool is_priority(std::string_view word) {
  return word == "low" || word == "normal" || word == "high";
}

Outcome<RunOptions> parse_run_options(const Arguments& arguments) {
  CLI::App app{kDescription};
  RunOptions options;
  declare(app, options);
  app.formatter(std::make_shared<Help>());
  app.footer(kFooter);
  const auto ours = static_cast<std::ptrdiff_t>(count_ours(app, arguments));
  auto command = arguments.begin() + ours;
  try {
    // CLI11 takes a vector from its end.
    app.parse(Arguments(std::make_reverse_iterator(command), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return failure(app.help(), kExitOk);
  } catch (const CLI::CallForVersion& version) {
    return failure(version.what(), kExitOk);
  } catch (const CLI::ParseError& error) {
    return failure(fmt::format("{} (see nvshare run --help; options of the program stand after it)",
                               error.what()));
  }
  if (command != arguments.end() && *command == "--") ++command;
  options.command.assign(command, arguments.end());
  options.debug = options.debug || !options.debug_file.empty();
  const std::string wrong = complaint(app, options);
  if (!wrong.empty()) return failure(wrong);
  return options;
}

}  // namespace nvs::cli
