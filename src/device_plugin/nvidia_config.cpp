// SPDX-License-Identifier: Apache-2.0
// The file of NVIDIA's device plugin, `version: v1`, in all that it may say as of its version 0.20.
#include <algorithm>

#include "base/result.h"
#include "device_plugin/config_kinds.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

constexpr const char* kNvidiaDomain = "nvidia.com/";
constexpr const char* kMigPrefix = "mig-";
constexpr const char* kNoEffect = "has no effect here";

class NvidiaFile {
 public:
  explicit NvidiaFile(std::string file) : file_(std::move(file)) {}

  Parsed<Config> read(const YAML::Node& root) {
    const auto top =
        NVS_TRY(section(root, "", {"version", "flags", "resources", "sharing", "imex"}));
    const auto version = NVS_TRY(top.text("version"));
    if (version && !version->empty() && *version != "v1") {
      return tl::unexpected(top.complaint("version", "is '" + *version +
                                                         "': it is v1 for NVIDIA's settings, " +
                                                         kOwnConfigVersion + " for ours"));
    }
    config_.resources.clear();
    config_.offers_the_rest = true;
    if (top.has("flags")) NVS_TRY(read_flags(top.value("flags")));
    if (top.has("sharing")) NVS_TRY(read_sharing(top.value("sharing")));
    if (top.has("resources")) {
      // NVIDIA's plugin reads it and pays no heed either.
      NVS_TRY(section(top.value("resources"), "resources", {"gpus", "migs"}));
      warn(top, "resources");
    }
    if (top.has("imex")) {
      NVS_TRY(section(top.value("imex"), "imex", {"channelIDs", "required"}));
      warn(top, "imex");
    }
    return std::move(config_);
  }

 private:
  Parsed<YamlSection> section(const YAML::Node& node, const std::string& name,
                              std::vector<std::string> known) const {
    return YamlSection::read(file_, node, name, std::move(known));
  }

  void warn(const YamlSection& section, const std::string& key) {
    config_.warnings.push_back(section.complaint(key, kNoEffect));
  }

  // What is false has no effect anywhere.
  void warn_if_meant(const YamlSection& section, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      const YAML::Node node = section.value(key);
      if (!node.IsDefined() || (node.IsScalar() && node.Scalar() == "false")) continue;
      warn(section, key);
    }
  }

  Parsed<void> read_flags(const YAML::Node& node) {
    const std::vector<std::string> others = {"mpsRoot",           "gdrcopyEnabled",
                                             "gdsEnabled",        "mofedEnabled",
                                             "useNodeFeatureAPI", "deviceDiscoveryStrategy"};
    std::vector<std::string> known = {"migStrategy", "failOnInitError",  "plugin",
                                      "gfd",         "nvidiaDriverRoot", "nvidiaDevRoot"};
    known.insert(known.end(), others.begin(), others.end());
    const auto flags = NVS_TRY(section(node, "flags", known));
    if (const auto word = NVS_TRY(flags.text("migStrategy"))) {
      if (*word != "none" && *word != "single" && *word != "mixed") {
        return tl::unexpected(flags.complaint("migStrategy", "is none of none, single, mixed"));
      }
      if (*word == "mixed") config_.mig_names = MigNames::by_profile;
    }
    config_.fails_without_gpus = NVS_TRY(flags.flag("failOnInitError")).value_or(true);
    warn_if_meant(flags, others);
    if (flags.has("plugin")) NVS_TRY(read_plugin(flags.value("plugin")));
    NVS_TRY(read_roots(flags));
    if (flags.has("gfd")) {
      NVS_TRY(
          section(flags.value("gfd"), "flags.gfd",
                  {"oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"}));
      warn(flags, "gfd");
    }
    return {};
  }

  // One says where device files are; the other one does where that one is silent.
  Parsed<void> read_roots(const YamlSection& flags) {
    std::vector<std::string> unused = {"nvidiaDriverRoot", "nvidiaDevRoot"};
    if (config_.passes_device_files && (flags.has(unused[0]) || flags.has(unused[1]))) {
      const std::size_t used = flags.has("nvidiaDevRoot") ? 1 : 0;
      config_.device_root = *NVS_TRY(flags.text(unused[used]));
      if (!config_.device_root.starts_with('/')) {
        return tl::unexpected(flags.complaint(unused[used], "must begin with /"));
      }
      unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(used));
    }
    warn_if_meant(flags, unused);
    return {};
  }

  Parsed<void> read_plugin(const YAML::Node& node) {
    const auto plugin = NVS_TRY(
        section(node, "flags.plugin",
                {"passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy", "cdiAnnotationPrefix",
                 "nvidiaCTKPath", "containerDriverRoot", "sharedDevicesAllocationPolicy"}));
    NVS_TRY(read_device_lists(plugin, config_));
    if (const auto word = NVS_TRY(plugin.text("deviceIDStrategy"))) {
      if (*word != "uuid" && *word != "index") {
        return tl::unexpected(plugin.complaint("deviceIDStrategy", "is neither uuid nor index"));
      }
      config_.device_names = *word == "uuid" ? DeviceNames::uuid : DeviceNames::index;
    }
    if (const auto prefix = NVS_TRY(plugin.text("cdiAnnotationPrefix"))) {
      config_.cdi_annotation_prefix = *prefix;
    }
    NVS_TRY(read_spread(plugin, "sharedDevicesAllocationPolicy", config_));
    config_.passes_device_files = NVS_TRY(plugin.flag("passDeviceSpecs")).value_or(false);
    warn_if_meant(plugin, {"nvidiaCTKPath", "containerDriverRoot"});
    return {};
  }

  Parsed<void> read_sharing(const YAML::Node& node) {
    const auto sharing = NVS_TRY(section(node, "sharing", {"timeSlicing", "mps"}));
    if (sharing.has("mps")) {
      return tl::unexpected(sharing.complaint(
          "mps",
          "asks for NVIDIA's MPS, which cannot share a GPU with nvshare: write the same "
          "below timeSlicing, and memory is isolated and may be oversubscribed"));
    }
    if (!sharing.has("timeSlicing")) return {};
    const auto slicing =
        NVS_TRY(section(sharing.value("timeSlicing"), "sharing.timeSlicing",
                        {"renameByDefault", "failRequestsGreaterThanOne", "resources"}));
    const bool renames = NVS_TRY(slicing.flag("renameByDefault")).value_or(false);
    config_.fails_requests_greater_than_one =
        NVS_TRY(slicing.flag("failRequestsGreaterThanOne")).value_or(false);
    const YAML::Node list = slicing.value("resources");
    if (!list.IsDefined() || !list.IsSequence() || list.size() == 0) {
      return tl::unexpected(slicing.complaint("resources", "must be a list of at least one"));
    }
    for (const YAML::Node& item : list) NVS_TRY(read_resource(item, renames));
    return {};
  }

  Parsed<void> read_resource(const YAML::Node& node, bool renames) {
    const auto item = NVS_TRY(
        section(node, "sharing.timeSlicing.resources", {"name", "replicas", "devices", "rename"}));
    auto name = NVS_TRY(item.text("name"));
    if (!name) return tl::unexpected(item.complaint("name", "is missing"));
    if (name->find('/') == std::string::npos) *name = kNvidiaDomain + *name;
    const auto replicas = NVS_TRY(item.whole_number("replicas", 2, kReplicasMax));
    if (!replicas) return tl::unexpected(item.complaint("replicas", "is missing"));

    SharedResource resource{.name = *name, .replicas = static_cast<unsigned>(*replicas)};
    const std::string kind = name->substr(name->find('/') + 1);
    if (kind.starts_with(kMigPrefix)) {
      resource.mig_profile = kind.substr(std::char_traits<char>::length(kMigPrefix));
    } else if (kind != "gpu") {
      return tl::unexpected(item.complaint(
          "name", "is '" + *name + "': there are nvidia.com/gpu and nvidia.com/mig-PROFILE"));
    }
    if (renames) resource.name += ".shared";
    const std::string wrong = resource_name_error(resource.name);
    if (!wrong.empty()) return tl::unexpected(item.complaint("name", wrong));
    for (const SharedResource& other : config_.resources) {
      if (other.name == resource.name) {
        return tl::unexpected(item.complaint("name", "is '" + *name + "' a second time"));
      }
    }
    NVS_TRY(check_customs(item));
    config_.resources.push_back(std::move(resource));
    return {};
  }

  // NVIDIA's plugin reads both and goes on as if they were not there.
  Parsed<void> check_customs(const YamlSection& item) {
    const YAML::Node devices = item.value("devices");
    if (devices.IsDefined()) {
      if (!devices.IsScalar() && !devices.IsSequence()) {
        return tl::unexpected(item.complaint("devices", "is all, a number, or a list of GPUs"));
      }
      if (!devices.IsScalar() || devices.Scalar() != "all") warn(item, "devices");
    }
    if (NVS_TRY(item.text("rename"))) warn(item, "rename");
    return {};
  }

  std::string file_;
  Config config_;
};

}  // namespace

Parsed<Config> parse_nvidia_config(const YAML::Node& root, const std::string& file) {
  return NvidiaFile(file).read(root);
}

}  // namespace nvs::plugin
