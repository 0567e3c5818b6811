// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/byte_size.h"
#include "cli/ctl/exit_codes.h"
#include "cli/ctl/units.h"

namespace nvs::cli {
namespace {

constexpr const char* kDescription =
    "Shows and steers how programs share the GPUs of this machine, by talking to its daemon.";

constexpr const char* kFooter =
    "Which daemon: that of --folder, else of NVSHARE_FOLDER, else the node's in /var/run/nvshare,\n"
    "else your own, which `nvshare run` starts where the node has none.\n"
    "TENANT is the number in the first column of status, or the name, if only one has it.\n\n"
    "Exit codes: 0 done, 1 no daemon or a failure, 2 a wrong command line, 3 refused: no such\n"
    "tenant or GPU, a value out of range, or not allowed.\n\n"
    "Examples:\n"
    "  nvsharectl status -o json | jq .tenants\n"
    "  nvsharectl set window 10ms --gpu 0\n"
    "  nvsharectl set priority high train.py\n"
    "  nvsharectl set weight 200 train.py               twice as much as others that wait\n"
    "  nvsharectl set memory 4Gi train.py               of each GPU; set memory none: no limit\n"
    "  nvsharectl set cores 40 train.py                 percent of each GPU's time\n"
    "  nvsharectl trace --seconds 30 -o trace.json      then open it in ui.perfetto.dev\n"
    "  eval \"$(nvsharectl completion bash)\"\n";

constexpr std::array<std::string_view, 3> kModes = {"auto", "serial", "concurrent"};
constexpr std::array<std::string_view, 3> kPriorities = {"low", "normal", "high"};
constexpr std::array<std::string_view, 5> kCompletions = {"bash", "zsh", "fish", "tenants", "gpus"};
constexpr double kTraceSecondsMax = 86'400;
constexpr std::size_t kNameBytesMax = 1024;
// With names that long, they make up a request that the daemon takes.
constexpr std::size_t kGpusNamedMax = 32;

struct Raw {
  std::string format = "table";
  std::string seconds = "10s";
};

EarlyExit usage(const std::string& text) { return {kCtlUsage, text + " (see nvsharectl --help)"}; }

constexpr std::array<std::string_view, 7> kCommands = {"status", "top",   "set",       "pause",
                                                       "resume", "trace", "completion"};
constexpr std::array<std::string_view, 7> kSettings = {"mode",   "turn",   "window", "priority",
                                                       "weight", "memory", "cores"};
constexpr std::array<std::string_view, 4> kTenantSettings = {"priority", "weight", "memory",
                                                             "cores"};
constexpr unsigned kWeightMax = 1000;

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

CLI::App* declare_setting(CLI::App& set, CtlOptions& options, const std::string& name,
                          const std::string& about, const std::string& value) {
  CLI::App* app = set.add_subcommand(name, about);
  app->add_option("VALUE", options.value, value)->required();
  app->final_callback([&options, name] { options.setting = name; });
  return app;
}

void declare_set(CLI::App& root, CtlOptions& options) {
  CLI::App* set =
      root.add_subcommand("set", "change how a GPU is shared, or a tenant's part in it");
  set->require_subcommand(1);
  CLI::App* on_gpu[] = {
      declare_setting(*set, options, "mode", "who may run at a time", "auto, serial or concurrent"),
      declare_setting(*set, options, "turn", "how long a tenant keeps its memory, if not all fit",
                      "auto, or a time such as 30s"),
      declare_setting(*set, options, "window", "how long a tenant runs while others wait",
                      "a time such as 20ms"),
  };
  for (CLI::App* app : on_gpu) {
    app->add_option("--gpu", options.gpus,
                    "number or uuid of the GPU, or all (all); may be repeated")
        ->type_name("GPU")
        ->allow_extra_args(false);
  }
  CLI::App* of_tenant[] = {
      declare_setting(*set, options, "priority", "who goes first", "low, normal or high"),
      declare_setting(*set, options, "weight", "how much of a GPU's time, against others that wait",
                      "1 to 1000; all have 100 if nothing is set"),
      declare_setting(*set, options, "memory", "how much of each GPU's memory a tenant may have",
                      "4Gi, 4G, 512MiB, bytes, 25%; none: no limit; default: as without this"),
      declare_setting(*set, options, "cores", "how much of each GPU's time a tenant may have",
                      "1 to 100 percent; none: no limit; default: as without this"),
  };
  for (CLI::App* app : of_tenant) {
    app->add_option("TENANT", options.tenant, "number or name")->required();
  }
}

void declare(CLI::App& app, CtlOptions& options, Raw& raw) {
  app.set_help_flag("-h,--help", "print this and end");
  app.set_version_flag("--version", version_text().text, "print the version and end");
  app.add_option("--folder", options.folder, "the daemon's folder")->type_name("DIR")->take_last();
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* status = app.add_subcommand("status", "GPUs and tenants as a table");
  status->add_option("-o,--output", raw.format, "table or json (table)")
      ->type_name("FORMAT")
      ->take_last();
  app.add_subcommand("top", "the same, live; h shows the keys");
  declare_set(app, options);
  for (const char* name : {"pause", "resume"}) {
    const bool pause = std::string_view(name) == "pause";
    CLI::App* command = app.add_subcommand(
        name, pause
                  ? "keep a tenant from running until it is resumed, or the daemon is away for 10 s"
                  : "let it run again");
    command->add_option("TENANT", options.tenant, "number or name")->required();
  }
  CLI::App* trace = app.add_subcommand("trace", "who ran when, as a file for ui.perfetto.dev");
  trace->add_option("-o,--output", options.file, "the file, or - (nvshare-trace.json)")
      ->type_name("FILE")
      ->take_last();
  trace->add_option("--seconds", raw.seconds, "how far back (10)")->type_name("N")->take_last();
  CLI::App* completion =
      app.add_subcommand("completion", "print a script for a shell's completion");
  completion->add_option("SHELL", options.words, "bash, zsh or fish")->required();
}

// CLI11 does not name a word in the place of a subcommand that it does not know.
std::string unknown_command(const Arguments& arguments) {
  std::string command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--folder") ++i;
    if (word.starts_with('-')) continue;
    if (!command.empty()) {
      return is_one_of(kSettings, word)
                 ? ""
                 : "no setting '" + word +
                       "': use mode, turn, window, priority, weight, memory or cores";
    }
    if (!is_one_of(kCommands, word)) {
      return "no command '" + word + "': use status, top, set, pause, resume, trace or completion";
    }
    if (word != "set") return "";
    command = word;
  }
  return "";
}

// A time in its normal form: seconds. Empty if it is none.
std::string seconds_or_empty(const std::string& text) {
  const std::optional<double> seconds = parse_seconds(text);
  if (!seconds) return "";
  std::array<char, 64> digits{};
  std::snprintf(digits.data(), digits.size(), "%.9g", *seconds);
  return digits.data();
}

std::string complaint_about_limit(const CtlOptions& options) {
  const std::string& value = options.value;
  if (value == "none" || value == "default") return "";
  const bool is_memory = options.setting == "memory";
  if (is_memory ? parse_memory(value).has_value() : parse_cores(value).has_value()) return "";
  return "'" + value + "' is no " +
         (is_memory ? "size: write " + std::string(kMemoryForms)
                    : "share: write " + std::string(kCoresForms)) +
         "; none for no limit, default to take back what was set";
}

std::string complaint_about_setting(CtlOptions& options) {
  std::string& value = options.value;
  if (options.setting == "mode") {
    return is_one_of(kModes, value) ? ""
                                    : "no mode '" + value + "': use auto, serial or concurrent";
  }
  if (options.setting == "priority") {
    return is_one_of(kPriorities, value) ? ""
                                         : "no priority '" + value + "': use low, normal or high";
  }
  if (options.setting == "weight") {
    unsigned weight = 0;
    const char* end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, weight);
    const bool is_number = error == std::errc{} && stopped == end;
    return is_number && weight >= 1 && weight <= kWeightMax
               ? ""
               : "'" + value + "' is no weight: write a whole number from 1 to 1000";
  }
  if (options.setting == "memory" || options.setting == "cores") {
    return complaint_about_limit(options);
  }
  if (options.setting == "turn" && value == "auto") return "";
  const std::string seconds = seconds_or_empty(value);
  if (seconds.empty()) {
    return "'" + value + "' is no time: write a number and its unit, such as 20ms, 0.5s or 30s" +
           (options.setting == "turn" ? ", or auto" : "");
  }
  value = seconds;
  return "";
}

// CLI11 says which words are missing; what a word may be is said here.
std::string complaint(CtlOptions& options, const Raw& raw) {
  if (options.command == "set") {
    const std::string wrong = complaint_about_setting(options);
    if (!wrong.empty()) return wrong;
  }
  if (raw.format != "table" && raw.format != "json") {
    return "no output format '" + raw.format + "': use table or json";
  }
  options.format = raw.format == "json" ? OutputFormat::json : OutputFormat::table;
  const bool has_unit = raw.seconds.find_first_not_of("0123456789.") != std::string::npos;
  const std::optional<double> seconds = parse_seconds(has_unit ? raw.seconds : raw.seconds + "s");
  if (!seconds || *seconds <= 0 || *seconds > kTraceSecondsMax) {
    return "--seconds takes a number above 0, at most 86400, not '" + raw.seconds + "'";
  }
  options.seconds = *seconds;
  if (options.command == "completion" && !is_one_of(kCompletions, options.words)) {
    return "no completion for '" + options.words + "': use bash, zsh or fish";
  }
  if (options.file.empty()) return "-o needs the name of a file, or - for standard output";
  std::vector<std::string> names = options.gpus;
  names.insert(names.end(), {options.tenant, options.folder});
  for (const std::string& name : names) {
    if (name.size() > kNameBytesMax) return "a name of more than 1024 bytes names nothing";
  }
  if (options.gpus.size() > kGpusNamedMax) return "--gpu can be repeated 32 times";
  if (std::count(options.gpus.begin(), options.gpus.end(), "") > 0) {
    return "--gpu needs a number, a uuid or all";
  }
  const bool wants_tenant = options.command == "pause" || options.command == "resume" ||
                            is_one_of(kTenantSettings, options.setting);
  if (wants_tenant && options.tenant.empty()) return "a tenant's number or name is missing";
  return "";
}

}  // namespace

Outcome<CtlOptions> parse_ctl_options(const Arguments& arguments) {
  CLI::App app{kDescription, "nvsharectl"};
  CtlOptions options;
  Raw raw;
  declare(app, options, raw);
  app.footer(kFooter);
  try {
    // CLI11 takes a vector from its end.
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return failure(app.help(), kExitOk);
  } catch (const CLI::CallForVersion& version) {
    return failure(version.what(), kExitOk);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_command(arguments);
    return tl::unexpected(usage(unknown.empty() ? error.what() : unknown));
  }
  if (app.count("--folder") > 0 && options.folder.empty()) {
    return tl::unexpected(usage("--folder needs the name of a folder"));
  }
  options.command = app.get_subcommands().front()->get_name();
  const std::string wrong = complaint(options, raw);
  if (!wrong.empty()) return tl::unexpected(usage(wrong));
  return options;
}

}  // namespace nvs::cli
