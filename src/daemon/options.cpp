// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>

#include "base/byte_size.h"
#include "base/command_line.h"
#include "daemon/limits.h"
#include "daemon/status_words.h"
#include "os/unix_socket.h"
#include "wire/messages.h"

namespace nvs::daemon {
namespace {

constexpr const char* kDescription =
    "Shares the GPUs of this machine between the programs that were started under nvshare: it says "
    "whose turn it is.\nOne runs on a machine, as a service; `nvshare run` starts one for a user "
    "where there is none. Programs go on running when it stops, and come back to the next one.";

constexpr const char* kFooter =
    "Files in the folder:\n"
    "  tenant/scheduler.sock   programs connect here; containers need nothing but tenant/\n"
    "  admin.sock              nvsharectl connects here: root, and the user who runs this\n"
    "  plugin/plugin.sock      the device plugin says here which pod has what\n"
    "  state.json              what nvsharectl has set; it counts more than the flags\n"
    "  lock                    held while one runs\n\n"
    "Signals: TERM and INT stop it. Exit codes: 0 stopped, 1 failed, 2 wrong usage.\n\n"
    "Examples:\n"
    "  nvshare-scheduler                                    the service, as root\n"
    "  nvshare-scheduler --folder $XDG_RUNTIME_DIR/nvshare  for one user; programs need\n"
    "                                                       NVSHARE_FOLDER set to the same\n"
    "  nvshare-scheduler --mode serial --turn 1m            whole minutes for each, one at a time\n"
    "  nvshare-scheduler --log-level info,sessions:debug    who connects, in detail\n";

struct Words {
  std::string folder, window, turn, mode, memory_limit, core_limit, host_memory, log_level;
  std::string quota_period, kube, pod_priority, metrics;
  kube::Flags kube_flags;
  std::vector<std::string> gpu_memory;
};

void declare(CLI::App& app, Words& words, Options& options) {
  const auto add = [&app](const char* name, std::string& to, const char* type, const char* help) {
    app.add_option(name, to, help)->type_name(type)->take_last();
  };
  add("--folder", words.folder, "DIR",
      "where the sockets are; it is made if need be, in a folder that is there (default: "
      "$NVSHARE_FOLDER, else "
      "/var/run/nvshare)");
  add("--window", words.window, "TIME",
      "how long a program has a GPU to itself before the next one that waits, 1ms to 1s "
      "(default: 80ms)");
  add("--turn", words.turn, "TIME",
      "how long programs that do not fit into memory together stay in it, 100ms to 1h, or auto "
      "(default: $NVSHARE_SWITCH_TIME, else auto)");
  add("--mode", words.mode, "MODE",
      "auto: windows; serial: one program at a time, for whole turns; concurrent: the driver "
      "slices, as without nvshare (default: $NVSHARE_SCHEDULING_MODE, else auto)");
  add("--memory-limit", words.memory_limit, "SIZE",
      "how much of a GPU's memory a program may have if nobody says otherwise: 4Gi, 4G, bytes, or "
      "25% (default: no limit)");
  add("--core-limit", words.core_limit, "PERCENT",
      "how much of a GPU's time, likewise: 1 to 100 (default: no limit)");
  add("--pod-priority", words.pod_priority, "PRIORITY",
      "the highest priority that programs in pods may ask for: low, normal or high "
      "(default: normal)");
  // For simulated GPUs whose time runs slower.
  app.add_option("--quota-period", words.quota_period)->group("")->take_last();
  app.add_option(
         "--gpu-memory", words.gpu_memory,
         "treat each GPU as having no more memory than this, such as 16GiB; with UUID=SIZE, "
         "that one; may be repeated")
      ->type_name("[UUID=]SIZE")
      ->allow_extra_args(false);
  add("--host-memory", words.host_memory, "SIZE",
      "lend programs no more of the machine's memory than this for what does not fit into GPUs; 0: "
      "none, else at least 64MiB (default: half of it)");
  add("--kube", words.kube, "WHEN",
      "watch the annotations of this node's pods: on, off, or auto: in a pod that has NODE_NAME "
      "set "
      "(default: auto)");
  add("--kube-api", words.kube_flags.api_url, "URL",
      "the API server (default: that of the cluster that this runs in)");
  add("--kube-account", words.kube_flags.account_folder, "DIR",
      "where the files token and ca.crt are (default: those of the pod's service account)");
  add("--node-name", words.kube_flags.node, "NAME",
      "this node, as Kubernetes calls it (default: $NODE_NAME)");
  add("--metrics", words.metrics, "ADDRESS",
      "serve metrics for Prometheus at this address and port: 127.0.0.1:9402, [::1]:9402, or :9402 "
      "for all (default: nowhere)");
  app.add_flag("--exit-when-unused", options.exit_when_unused,
               "end when every program that came has ended");
  add("--log-level", words.log_level, "LEVEL",
      "error, warning, info or debug; MODULE:LEVEL for single ones, separated by commas "
      "(default: $NVSHARE_LOG, else debug if NVSHARE_DEBUG is set, else info)");
  app.set_help_flag("-h,--help", "print this and end");
  app.set_version_flag("--version", "nvshare-scheduler " NVS_VERSION, "print the version and end");
}

// Each returns what is wrong, or nothing.
std::string read_folder(const Words& words, const Environment& environment, Options& options) {
  options.folder = words.folder;
  if (options.folder.empty() && environment.folder != nullptr) options.folder = environment.folder;
  if (options.folder.empty()) options.folder = wire::kDefaultFolder;
  while (options.folder.size() > 1 && options.folder.back() == '/') options.folder.pop_back();
  if (options.folder[0] != '/') {
    return "the folder " + options.folder + " must be a path that begins with /";
  }
  std::size_t longest = 0;
  for (const std::string_view socket :
       {wire::kTenantSocket, wire::kAdminSocket, wire::kPluginSocket}) {
    longest = std::max(longest, socket.size());
  }
  const std::size_t most = os::kSocketPathMax - longest - 1;
  if (options.folder.size() > most) {
    return "the folder " + options.folder + " is too long a name: with the sockets in it, the " +
           "system allows " + std::to_string(most) + " characters, and it has " +
           std::to_string(options.folder.size());
  }
  return "";
}

// What a flag says, else the environment; and whose word it is.
struct Said {
  std::string word;
  std::string name;
};
Said said(const std::string& flag, const char* flag_name, const char* value, const char* variable) {
  if (!flag.empty() || value == nullptr) return {flag, flag_name};
  return {value, variable};
}

std::string read_policy(const Words& words, const Environment& environment, Options& options) {
  const Said mode_said = said(words.mode, "--mode", environment.mode, "NVSHARE_SCHEDULING_MODE");
  if (!mode_said.word.empty()) {
    const auto mode = parse_mode(mode_said.word);
    if (!mode)
      return mode_said.name + " is auto, serial or concurrent, not '" + mode_said.word + "'";
    options.policy.mode = *mode;
  }
  if (!words.window.empty()) {
    const auto seconds = parse_seconds(words.window);
    const auto window = seconds ? window_of_ms(*seconds * 1000) : std::nullopt;
    if (!window) return "--window is a time from 1ms to 1s, not '" + words.window + "'";
    options.policy.window = *window;
  }
  const Said turn = said(words.turn, "--turn", environment.turn, "NVSHARE_SWITCH_TIME");
  if (!turn.word.empty() && turn.word != "auto") {
    auto seconds = parse_seconds(turn.word);
    // There a fixed turn is a number of seconds, as in the words of the requirements.
    if (!seconds && words.turn.empty()) seconds = parse_seconds(turn.word + "s");
    options.policy.turn = seconds ? turn_of_s(*seconds) : std::nullopt;
    if (!options.policy.turn) {
      return turn.name + " is auto or a time from 100ms to 1h, not '" + turn.word + "'";
    }
  }
  return "";
}

std::string read_limits(const Words& words, Options& options) {
  if (!words.memory_limit.empty()) {
    const auto memory = parse_memory(words.memory_limit);
    if (!memory) {
      return "--memory-limit '" + words.memory_limit + "' is no size: write " + kMemoryForms;
    }
    options.limits.say(LimitSource::defaults, MemoryWord::of(*memory));
  }
  if (!words.core_limit.empty()) {
    const auto cores = parse_cores(words.core_limit);
    if (!cores) {
      return "--core-limit '" + words.core_limit + "' is no share: write " + kCoresForms;
    }
    options.limits.say(LimitSource::defaults, CoresWord::of(*cores));
  }
  if (!words.pod_priority.empty()) {
    const auto priority = parse_priority(words.pod_priority);
    if (!priority) return "--pod-priority is low, normal or high, not '" + words.pod_priority + "'";
    options.pod_priority = *priority;
  }
  if (!words.quota_period.empty()) {
    const auto seconds = parse_seconds(words.quota_period);
    const bool is_in_range = seconds && *seconds >= core::kQuotaPeriodMin.seconds() &&
                             *seconds <= core::kQuotaPeriodMax.seconds();
    if (!is_in_range) {
      return "--quota-period is a time from 10ms to 1m, not '" + words.quota_period + "'";
    }
    options.policy.quota_period = Duration::from_ns(std::llround(*seconds * 1e9));
  }
  return "";
}

std::string read_gpu_memory(const Words& words, Options& options) {
  for (const std::string& word : words.gpu_memory) {
    const std::size_t sign = word.find('=');
    const auto bytes = parse_bytes(sign == std::string::npos ? word : word.substr(sign + 1));
    if (!bytes) {
      return "--gpu-memory is a size such as 16GiB or 512MiB, or UUID=SIZE, not '" + word + "'";
    }
    if (sign == std::string::npos) {
      options.gpu_memory.each = bytes;
      continue;
    }
    const auto uuid = parse_uuid(word.substr(0, sign));
    if (!uuid) {
      return "--gpu-memory names a GPU by its whole UUID, as nvidia-smi -L shows it, not '" +
             word.substr(0, sign) + "'";
    }
    options.gpu_memory.by_uuid[*uuid] = *bytes;
  }
  return "";
}

std::string read_host_memory(const Words& words, Options& options) {
  if (words.host_memory.empty()) return "";
  options.host_memory_bytes = words.host_memory == "0" ? 0 : parse_bytes(words.host_memory);
  const auto bytes = options.host_memory_bytes;
  if (bytes && (*bytes == 0 || *bytes >= kHostMemoryMin)) return "";
  return "--host-memory is 0, or a size of at least 64MiB such as 64GiB, not '" +
         words.host_memory + "'";
}

std::string read_kube(const Words& words, const Environment& environment, Options& options) {
  const bool is_auto = words.kube.empty() || words.kube == "auto";
  if (!is_auto && words.kube != "on" && words.kube != "off") {
    return "--kube is on, off or auto, not '" + words.kube + "'";
  }
  const bool is_in_pod = environment.kube.host != nullptr;
  const bool is_named = !words.kube_flags.api_url.empty();
  if (words.kube == "off" || (is_auto && !is_in_pod && !is_named)) return "";
  auto settings = kube::settings_of(words.kube_flags, environment.kube);
  if (settings) {
    options.kube = std::move(*settings);
  } else if (is_auto && !is_named) {
    options.kube_remark = settings.error();
  } else {
    return settings.error();
  }
  return "";
}

std::string read_metrics(const Words& words, Options& options) {
  if (words.metrics.empty()) return "";
  options.metrics = os::parse_tcp_address(words.metrics);
  if (options.metrics) return "";
  return "--metrics is an address and a port such as 127.0.0.1:9402, [::1]:9402 or :9402, not '" +
         words.metrics + "'";
}

// As the library reads it.
bool is_yes(const char* value) {
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::string read_log(const Words& words, const Environment& environment, Options& options) {
  if (is_yes(environment.debug)) options.log_levels.general = Level::debug;
  if (environment.log != nullptr && *environment.log != '\0') {
    auto levels = parse_log_levels(environment.log, options.log_levels);
    if (!levels) return "NVSHARE_LOG: " + levels.error();
    options.log_levels = *std::move(levels);
  }
  if (!words.log_level.empty()) {
    auto levels = parse_log_levels(words.log_level, options.log_levels);
    if (!levels) return "--log-level: " + levels.error();
    options.log_levels = *std::move(levels);
  }
  return "";
}

// A number and the word after it; nothing if there is no number.
std::optional<double> split(const std::string& text, std::string& word) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  word.assign(rest, end);
  return number;
}

}  // namespace

std::optional<std::uint64_t> GpuMemory::of(const UuidBytes& uuid) const {
  const auto found = by_uuid.find(uuid);
  return found != by_uuid.end() ? found->second : each;
}

std::optional<double> parse_seconds(const std::string& text) {
  struct Unit {
    const char* word;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  std::string word;
  const auto number = split(text, word);
  if (!number) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (word == unit.word) return *number * unit.seconds;
  }
  return std::nullopt;
}

tl::expected<Options, EarlyExit> parse_options(std::vector<std::string> arguments,
                                               const Environment& environment) {
  CLI::App app{kDescription};
  app.formatter(std::make_shared<OptionsHelp>("nvshare-scheduler"));
  app.footer(kFooter);
  Options options;
  Words words;
  declare(app, words, options);
  if (auto ended = parse_arguments(app, std::move(arguments))) return tl::unexpected(*ended);
  std::string wrong = read_folder(words, environment, options);
  if (wrong.empty()) wrong = read_policy(words, environment, options);
  if (wrong.empty()) wrong = read_limits(words, options);
  if (wrong.empty()) wrong = read_gpu_memory(words, options);
  if (wrong.empty()) wrong = read_host_memory(words, options);
  if (wrong.empty()) wrong = read_kube(words, environment, options);
  if (wrong.empty()) wrong = read_metrics(words, options);
  if (wrong.empty()) wrong = read_log(words, environment, options);
  if (!wrong.empty()) return tl::unexpected(EarlyExit{kExitUsage, wrong});
  return options;
}

}  // namespace nvs::daemon
