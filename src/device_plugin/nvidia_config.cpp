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
      NVS_TRY(check_resources(top.value("resources")));
      warn(top, "resources");
    }
    if (top.has("imex")) {
      NVS_TRY(check_imex(top.value("imex")));
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

  Parsed<void> warn_of_texts(const YamlSection& section, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (NVS_TRY(section.text(key))) warn(section, key);
    }
    return {};
  }

  // What is false has no effect anywhere.
  Parsed<void> warn_of_flags(const YamlSection& section, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (NVS_TRY(section.flag(key)).value_or(false)) warn(section, key);
    }
    return {};
  }

  // The types of what has no effect: a slip of the pen there may be one elsewhere too.
  // NVIDIA's plugin has `mig`; descriptions of its file have `migs`.
  Parsed<void> check_resources(const YAML::Node& node) const {
    const auto resources = NVS_TRY(section(node, "resources", {"gpus", "mig", "migs"}));
    for (const char* key : {"gpus", "mig", "migs"}) {
      const YAML::Node list = resources.value(key);
      if (!list.IsDefined()) continue;
      if (!list.IsSequence()) return tl::unexpected(resources.complaint(key, "is no list"));
      for (const YAML::Node& node_of_one : list) {
        const auto one = NVS_TRY(section(node_of_one, resources.path(key), {"pattern", "name"}));
        NVS_TRY(one.text("pattern"));
        NVS_TRY(one.text("name"));
      }
    }
    return {};
  }

  Parsed<void> check_imex(const YAML::Node& node) const {
    const auto imex = NVS_TRY(section(node, "imex", {"channelIDs", "required"}));
    NVS_TRY(imex.flag("required"));
    const YAML::Node list = imex.value("channelIDs");
    if (!list.IsDefined()) return {};
    bool is_good = list.IsSequence();
    for (const YAML::Node& item : list) {
      std::uint32_t channel = 0;
      is_good = is_good && item.IsScalar() && YAML::convert<std::uint32_t>::decode(item, channel);
    }
    if (is_good) return {};
    return tl::unexpected(imex.complaint("channelIDs", "is no list of whole numbers"));
  }

  Parsed<void> check_gfd(const YAML::Node& node) const {
    const auto gfd = NVS_TRY(
        section(node, "flags.gfd",
                {"oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"}));
    for (const char* key : {"oneshot", "noTimestamp"}) NVS_TRY(gfd.flag(key));
    for (const char* key : {"sleepInterval", "outputFile", "machineTypeFile"}) {
      NVS_TRY(gfd.text(key));
    }
    return {};
  }

  Parsed<void> read_flags(const YAML::Node& node) {
    const auto flags =
        NVS_TRY(section(node, "flags",
                        {"migStrategy", "failOnInitError", "plugin", "gfd", "nvidiaDriverRoot",
                         "nvidiaDevRoot", "mpsRoot", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled",
                         "useNodeFeatureAPI", "deviceDiscoveryStrategy"}));
    if (const auto word = NVS_TRY(flags.text("migStrategy"))) {
      if (*word != "none" && *word != "single" && *word != "mixed") {
        return tl::unexpected(flags.complaint("migStrategy", "is none of none, single, mixed"));
      }
      if (*word == "mixed") config_.mig_names = MigNames::by_profile;
    }
    config_.fails_without_gpus = NVS_TRY(flags.flag("failOnInitError")).value_or(true);
    NVS_TRY(warn_of_texts(flags, {"mpsRoot", "deviceDiscoveryStrategy"}));
    NVS_TRY(warn_of_flags(flags,
                          {"gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI"}));
    if (flags.has("plugin")) NVS_TRY(read_plugin(flags.value("plugin")));
    NVS_TRY(read_roots(flags));
    if (flags.has("gfd")) {
      NVS_TRY(check_gfd(flags.value("gfd")));
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
    return warn_of_texts(flags, unused);
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
      const std::string uuid = "GPU-" + std::string(36, '0');
      const std::string wrong = annotation_key_error(*prefix + kCdiAnnotationName + uuid);
      if (!wrong.empty()) {
        return tl::unexpected(plugin.complaint(
            "cdiAnnotationPrefix", "is '" + *prefix + "', which begins no key: " + wrong));
      }
      config_.cdi_annotation_prefix = *prefix;
    }
    NVS_TRY(read_spread(plugin, "sharedDevicesAllocationPolicy", config_));
    config_.passes_device_files = NVS_TRY(plugin.flag("passDeviceSpecs")).value_or(false);
    return warn_of_texts(plugin, {"nvidiaCTKPath", "containerDriverRoot"});
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
