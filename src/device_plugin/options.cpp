// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/options.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/byte_size.h"
#include "base/command_line.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

constexpr const char* kDescription =
    "Offers each GPU of this node to Kubernetes as many virtual ones, and gives containers that "
    "ask "
    "for one what they need to share it: the GPU, libnvshare.so, and the daemon's folder for "
    "tenants.\nOne runs on a node, beside nvshare-scheduler. Pods run on when it stops or is "
    "replaced.";

constexpr const char* kFooter =
    "A settings file is NVIDIA's (version: v1, sharing.timeSlicing) as it is, or our own:\n"
    "  version: nvshare/v1\n"
    "  resource: nvshare.com/gpu         what pods ask for\n"
    "  replicas: 10                      virtual devices of each GPU\n"
    "  injection: ld-so-preload          or cdi-cri, env\n"
    "  deviceListStrategy: envvar        or volume-mounts, cdi-annotations, cdi-cri; or a list\n"
    "  passDeviceSpecs: false            name the GPU's device files to the kubelet as well\n"
    "  allocationPolicy: distributed     or packed\n"
    "  failRequestsGreaterThanOne: false\n"
    "  memory: {resource: nvshare.com/gpu-memory, unit: 1Gi, ratio: 1.0}\n"
    "  cores: {resource: nvshare.com/gpu-core}\n\n"
    "Variables, where no flag says otherwise: CONFIG_FILE, NVSHARE_VIRTUAL_DEVICES (--replicas),\n"
    "NVSHARE_INJECTION, DEVICE_LIST_STRATEGY, SHARED_DEVICES_ALLOCATION_POLICY, NVSHARE_FOLDER,\n"
    "NVSHARE_LIBRARY, NVSHARE_LOG; DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS as NVIDIA's\n"
    "plugin has them.\n\n"
    "Signals: HUP reads the settings again, TERM and INT stop it. Exit codes: 0 stopped; 1 "
    "failed,\n"
    "or the kubelet's folder is gone; 2 wrong usage or settings.\n\n"
    "Examples:\n"
    "  nvshare-device-plugin --replicas 20\n"
    "  nvshare-device-plugin --config-file time-slicing.yaml --check    is this file right?\n"
    "  nvshare-device-plugin --memory-ratio 1.5 --cores                 with limits to ask for\n";

struct OptionWords {
  std::string resource, replicas, injection, device_lists, spread, memory_ratio, memory_unit;
  std::string poll, log_level;
  bool cores = false;
  bool fails = false;
};

using AddOption = std::function<void(const char*, std::string&, const char*, const char*)>;

void declare_places(const AddOption& add, PluginOptions& options) {
  add("--config-file", options.places.file, "FILE", "the settings");
  add("--config-folder", options.places.folder, "DIR",
      "several settings, each a file with a name: the mount of a ConfigMap");
  add("--config", options.places.name, "NAME", "which of them");
  add("--config-label-file", options.places.label_file, "FILE",
      "holds the value of this node's label, which names one of them; read again with the "
      "settings");
  add("--default-config", options.places.fallback, "NAME", "which one if there is no label");
  add("--library", options.library, "FILE",
      "libnvshare.so for containers (default: $NVSHARE_LIBRARY, else "
      "/usr/lib/nvshare/libnvshare.so)");
  add("--host-root", options.host_root, "DIR",
      "the host's folder into which it is copied, under a name of its version (default: "
      "/var/lib/nvshare)");
  add("--root-mount", options.root_mount, "DIR",
      "where that folder is for this program (default: the same)");
  add("--folder", options.daemon_folder, "DIR",
      "the daemon's folder on the host (default: $NVSHARE_FOLDER, else /var/run/nvshare)");
  add("--cdi-folder", options.cdi_folder, "DIR",
      "where container runtimes look for CDI files (default: /var/run/cdi)");
  add("--kubelet-folder", options.kubelet_folder, "DIR",
      "where the kubelet's socket and ours are (default: /var/lib/kubelet/device-plugins)");
  add("--pod-resources", options.pod_resources, "FILE",
      "the kubelet's socket that tells who has which device (default: "
      "/var/lib/kubelet/pod-resources/kubelet.sock)");
  add("--sysfs", options.sysfs, "DIR",
      "where the kernel says which NUMA node a GPU is near (default: /sys)");
  add("--node-labels-file", options.labels_file, "FILE",
      "write the node's labels there, for Node Feature Discovery; removed at the end (default: "
      "nowhere)");
  add("--probes", options.probe_address, "[HOST]:PORT",
      "answer GET /healthz and /readyz there (default: nowhere)");
}

void declare_settings(CLI::App& app, const AddOption& add, OptionWords& words,
                      PluginOptions& options) {
  add("--resource", words.resource, "NAME",
      "what pods ask for (default: nvshare.com/gpu, or what the file says)");
  add("--replicas", words.replicas, "N", "virtual devices of each GPU, 1 to 1000 (default: 10)");
  add("--injection", words.injection, "HOW",
      "how containers get the library: ld-so-preload, cdi-cri, or env, which a pod's own "
      "LD_PRELOAD defeats (default: ld-so-preload)");
  add("--device-list-strategy", words.device_lists, "HOW",
      "how containers get the GPU: envvar, volume-mounts, cdi-annotations, cdi-cri, or several "
      "with commas (default: envvar)");
  add("--allocation-policy", words.spread, "HOW",
      "distributed: the GPU with the fewest pods; packed: the fullest (default: distributed)");
  app.add_flag("--fail-requests-greater-than-one", words.fails,
               "refuse containers that ask for several devices of shared GPUs");
  add("--memory-ratio", words.memory_ratio, "RATIO",
      "offer GPU memory as a resource of its own, this many times what there is; asking for it "
      "sets the container's limit (default: not offered)");
  add("--memory-unit", words.memory_unit, "SIZE", "how much one of it is (default: 1Gi)");
  app.add_flag("--cores", words.cores, "offer compute time likewise, 100 a GPU");
  app.add_flag("--require-scheduler", options.requires_scheduler,
               "call all devices unhealthy while nvshare-scheduler has not answered since the "
               "start, or has been silent for a minute: no pod comes that nobody would hold to "
               "its limits");
  add("--poll", words.poll, "SECONDS",
      "how often the kubelet is asked who has what, 1 to 60 (default: 5)");
  app.add_flag("--check", options.only_checks,
               "read the settings, say what they mean or what is wrong, and end");
  app.add_flag(
      "--unused", options.only_asks_for_holders,
      "ask the kubelet whether pods of this node have devices of ours, name them, and end: "
      "with 0 if there are none, with 1 if there are or it is not known, as in the first minute of "
      "a kubelet");
  add("--log-level", words.log_level, "LEVEL",
      "error, warning, info or debug; MODULE:LEVEL for single ones, separated by commas "
      "(default: $NVSHARE_LOG, else info)");
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// A flag, or the variable that stands for it, and what to call it.
struct Said {
  std::string text;
  std::string by;
};
Said said(const std::string& flag, const char* flag_name, const GetVariable& variable,
          const char* variable_name) {
  if (!flag.empty()) return {flag, flag_name};
  const char* value = variable_name != nullptr ? variable(variable_name) : nullptr;
  return {value != nullptr ? value : "", variable_name != nullptr ? variable_name : flag_name};
}

// Each returns what is wrong, or nothing.
std::string read_counts(const OptionWords& words, const GetVariable& variable, ConfigFlags& flags) {
  const Said replicas = said(words.replicas, "--replicas", variable, "NVSHARE_VIRTUAL_DEVICES");
  if (!replicas.text.empty()) {
    const auto number = parse_number(replicas.text);
    if (!number || *number < 1 || *number > kReplicasMax ||
        *number != static_cast<unsigned>(*number)) {
      return replicas.by + " is a whole number from 1 to 1000, not '" + replicas.text + "'";
    }
    flags.replicas = static_cast<unsigned>(*number);
  }
  if (!words.memory_ratio.empty()) {
    flags.memory_ratio = parse_number(words.memory_ratio);
    if (!flags.memory_ratio || *flags.memory_ratio < 0 || *flags.memory_ratio > kRatioMax) {
      return "--memory-ratio is a number from 0 to 100, not '" + words.memory_ratio + "'";
    }
  }
  if (!words.memory_unit.empty()) {
    flags.memory_unit_bytes = parse_bytes(words.memory_unit);
    if (!flags.memory_unit_bytes || *flags.memory_unit_bytes < (std::uint64_t{1} << 20U)) {
      return "--memory-unit is a size of 1Mi or more such as 1Gi, not '" + words.memory_unit + "'";
    }
  }
  if (words.cores) flags.offers_cores = true;
  if (words.fails) flags.fails_requests_greater_than_one = true;
  if (!words.resource.empty()) {
    const std::string wrong = resource_name_error(words.resource);
    if (!wrong.empty()) return "--resource: " + wrong;
    flags.resource = words.resource;
  }
  return "";
}

std::string read_ways(const OptionWords& words, const GetVariable& variable, ConfigFlags& flags) {
  const Said injection = said(words.injection, "--injection", variable, "NVSHARE_INJECTION");
  if (!injection.text.empty()) {
    flags.injection = parse_injection(injection.text);
    if (!flags.injection) {
      return injection.by + " is ld-so-preload, cdi-cri or env, not '" + injection.text + "'";
    }
  }
  const Said spread =
      said(words.spread, "--allocation-policy", variable, "SHARED_DEVICES_ALLOCATION_POLICY");
  if (!spread.text.empty()) {
    flags.spread = parse_spread(spread.text);
    if (!flags.spread) return spread.by + " is distributed or packed, not '" + spread.text + "'";
  }
  const Said lists =
      said(words.device_lists, "--device-list-strategy", variable, "DEVICE_LIST_STRATEGY");
  if (lists.text.empty()) return "";
  flags.device_lists.emplace();
  for (std::size_t at = 0; at <= lists.text.size();) {
    const std::size_t end = std::min(lists.text.find(',', at), lists.text.size());
    const auto list = parse_device_list(lists.text.substr(at, end - at));
    if (!list) {
      return lists.by + " is envvar, volume-mounts, cdi-annotations, cdi-cri or several of them, " +
             "not '" + lists.text + "'";
    }
    flags.device_lists->push_back(*list);
    at = end + 1;
  }
  return "";
}

std::string read_rest(const OptionWords& words, const GetVariable& variable,
                      PluginOptions& options) {
  if (!words.poll.empty()) {
    const auto seconds = parse_number(words.poll);
    if (!seconds || *seconds < 1 || *seconds > 60) {
      return "--poll is a number of seconds from 1 to 60, not '" + words.poll + "'";
    }
    options.poll = Duration::from_ms(static_cast<std::int64_t>(*seconds * 1000));
  }
  const auto text = [&variable](const char* name) {
    const char* value = variable(name);
    return std::string(value != nullptr ? value : "");
  };
  const auto rules =
      parse_health_rules(text("DP_DISABLE_HEALTHCHECKS"), text("DP_ENABLE_HEALTHCHECKS"));
  if (!rules) return rules.error();
  options.health = *rules;
  for (const Said& levels :
       {Said{text("NVSHARE_LOG"), "NVSHARE_LOG"}, Said{words.log_level, "--log-level"}}) {
    auto parsed = parse_log_levels(levels.text, options.log_levels);
    if (!parsed) return levels.by + ": " + parsed.error();
    options.log_levels = *std::move(parsed);
  }
  if (options.root_mount.empty()) options.root_mount = options.host_root;
  for (const std::string& path : {options.host_root, options.daemon_folder}) {
    if (!path.starts_with('/')) return path + " is a path of the host, and must begin with /";
  }
  return "";
}

}  // namespace

tl::expected<PluginOptions, EarlyExit> parse_options(std::vector<std::string> arguments,
                                                     const GetVariable& variable) {
  CLI::App app{kDescription};
  app.formatter(std::make_shared<OptionsHelp>("nvshare-device-plugin"));
  app.footer(kFooter);
  PluginOptions options;
  const auto from = [&variable](const char* name, std::string& to) {
    const char* value = variable(name);
    if (value != nullptr && *value != '\0') to = value;
  };
  from("CONFIG_FILE", options.places.file);
  from("NVSHARE_FOLDER", options.daemon_folder);
  from("NVSHARE_LIBRARY", options.library);
  OptionWords words;
  const AddOption add = [&app](const char* name, std::string& to, const char* type,
                               const char* help) {
    app.add_option(name, to, help)->type_name(type)->take_last();
  };
  declare_settings(app, add, words, options);
  declare_places(add, options);
  app.set_help_flag("-h,--help", "print this and end");
  app.set_version_flag("--version", "nvshare-device-plugin " NVS_VERSION,
                       "print the version and end");
  if (auto ended = parse_arguments(app, std::move(arguments))) return tl::unexpected(*ended);
  std::string wrong = read_counts(words, variable, options.flags);
  if (wrong.empty()) wrong = read_ways(words, variable, options.flags);
  if (wrong.empty()) wrong = read_rest(words, variable, options);
  if (!wrong.empty()) return tl::unexpected(EarlyExit{kExitUsage, wrong});
  return options;
}

}  // namespace nvs::plugin
