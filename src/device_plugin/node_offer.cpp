// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/node_offer.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_size.h"
#include "base/result.h"
#include "device_plugin/cdi_spec.h"
#include "device_plugin/device_files.h"
#include "nvml/gpus.h"
#include "os/file_text.h"
#include "os/process.h"
#include "wire/messages.h"

namespace nvs::plugin {
namespace {

constexpr std::size_t kConfigFileMax = std::size_t{2} << 20U;
constexpr std::size_t kCdiFileMax = std::size_t{16} << 20U;
constexpr std::size_t kMigMinorsMax = std::size_t{1} << 20U;

std::string cdi_path(const PluginOptions& options) {
  return options.cdi_folder + "/" + kCdiFileName;
}

}  // namespace

Parsed<LoadedConfig> load_config(const PluginOptions& options) {
  const auto chosen = NVS_TRY(
      choose_config(options.places, [](const std::string& path) -> std::optional<std::string> {
        auto text = os::read_file(path, kConfigFileMax);
        if (!text) return std::nullopt;
        return *std::move(text);
      }));
  Config config;
  if (!chosen.file.empty()) config = NVS_TRY(parse_config(chosen.text, chosen.file));
  return LoadedConfig{.chosen = chosen, .config = NVS_TRY(with_flags(config, options.flags))};
}

Parsed<std::vector<OfferedGpu>> find_offered_gpus(const Nvml& nvml, const PluginOptions& options,
                                                  std::string& remarks) {
  const auto found = find_gpus(nvml, remarks);
  if (!found) return tl::unexpected(found.error().message());
  // Where there are no MIG instances there may be no such file.
  const std::string mig_minors = os::read_file(kMigMinorsPath, kMigMinorsMax).value_or("");
  std::vector<OfferedGpu> gpus;
  for (const Gpu& gpu : *found) {
    gpus.push_back({.uuid = gpu.uuid,
                    .parent_uuid = gpu.parent_uuid,
                    .mig_profile = gpu.is_mig ? mig_profile_of(gpu.name) : "",
                    .memory_bytes = gpu.memory_bytes,
                    .numa_node = numa_node_of(gpu.pci, options.sysfs),
                    .index = gpu.index,
                    .instance = gpu.instance,
                    .device_files = device_files_of(gpu, mig_minors)});
  }
  return gpus;
}

Parsed<InstalledLibrary> install(const PluginOptions& options) {
  const auto installed = install_library(options.library, options.root_mount, NVS_VERSION);
  if (!installed) {
    return tl::unexpected(options.library + " cannot be put below " + options.root_mount + ": " +
                          installed.error().message());
  }
  return *installed;
}

HostPaths host_paths(const PluginOptions& options, const InstalledLibrary& installed) {
  const std::string socket = options.daemon_folder + "/" + wire::kTenantSocket;
  return {.library = options.host_root + "/" + installed.library,
          .preload = options.host_root + "/" + installed.preload,
          .tenant_folder = socket.substr(0, socket.rfind('/'))};
}

Parsed<void> write_cdi_file(const PluginOptions& options, const Offer& offer,
                            const std::vector<SlotHolder>& holders) {
  if (offer.config.injection != Injection::cdi_cri) return {};
  const auto before = os::read_file(cdi_path(options), kCdiFileMax);
  std::set<std::string> earlier;
  if (before) earlier = cdi_names_in(*before);
  std::set<std::string> held;
  for (const SlotHolder& holder : holders) held.insert(cdi_name(holder.slot));
  const std::string text = cdi_spec_text(offer.inventory, offer.host, held, earlier);
  if (before && *before == text) return {};
  std::error_code error;
  std::filesystem::create_directories(options.cdi_folder, error);
  const auto written = write_atomically(cdi_path(options), text, 0644);
  if (!written) return tl::unexpected(cdi_path(options) + ": " + written.error().message());
  return {};
}

std::string make_tenant_folder(const PluginOptions& options, const Offer& offer) {
  if (offer.config.injection != Injection::cdi_cri) return "";
  // As the daemon makes them.
  constexpr mode_t kFolderMode = 0755;
  for (const std::string& path : {options.daemon_folder, offer.host.tenant_folder}) {
    const auto made = os::make_folder(path, kFolderMode);
    if (made) continue;
    return path + ": " + made.error().message() +
           "; containers cannot be started until nvshare-scheduler has made it";
  }
  return "";
}

std::string remark_on_control_files(const Config& config, const Answers::HasFile& has_file) {
  if (!gives_device_files(config)) return "";
  std::vector<std::string> missing;
  for (const char* path : kNeededFiles) {
    if (!has_file(path)) missing.push_back(path);
  }
  if (missing.empty()) return "";
  const std::string subject =
      missing.size() == 1 ? missing[0] + " is" : missing[0] + " and " + missing[1] + " are";
  return "passDeviceSpecs: " + subject +
         " not here and cannot be passed to containers; load the driver's modules before this "
         "plugin starts, and let its container have the capability compute";
}

std::string label_lines(const Offer& offer) {
  // NVIDIA's file may share nothing.
  const bool is_shared = !offer.config.resources.empty();
  const unsigned replicas = is_shared ? offer.config.resources.front().replicas : 1;
  return "nvshare.com/gpu.count=" + std::to_string(offer.inventory.gpus.size()) +
         "\nnvshare.com/gpu.replicas=" + std::to_string(replicas) +
         "\nnvshare.com/gpu.sharing-strategy=" + (is_shared ? "nvshare" : "none") + "\n";
}

Parsed<PlacedFile> write_labels_file(const PluginOptions& options, const Offer& offer) {
  if (options.labels_file.empty()) return PlacedFile{};
  const auto written = write_atomically(options.labels_file, label_lines(offer), 0644);
  if (!written) return tl::unexpected(options.labels_file + ": " + written.error().message());
  return file_at(options.labels_file);
}

void remove_labels_file(const PluginOptions& options, const PlacedFile& ours) {
  if (options.labels_file.empty() || file_at(options.labels_file) != ours) return;
  ::unlink(options.labels_file.c_str());
}

std::vector<std::string> describe(const Config& config) {
  std::vector<std::string> lines;
  for (const SharedResource& resource : config.resources) {
    lines.push_back(resource.name + ": " + std::to_string(resource.replicas) + " of each GPU");
  }
  if (config.resources.empty()) lines.push_back(std::string(kNvidiaResource) + ": whole GPUs");
  if (config.memory.is_offered) {
    std::array<char, 32> ratio{};
    std::snprintf(ratio.data(), ratio.size(), "%g", config.memory.ratio);
    lines.push_back(config.memory.name + ": " +
                    text_of(MemoryAmount{.bytes = config.memory.unit_bytes, .percent = 0}) +
                    " each, " + ratio.data() + " times the memory of each GPU");
  }
  if (config.cores.is_offered) lines.push_back(config.cores.name + ": 100 of each GPU");
  return lines;
}

std::optional<int> numa_node_of(const PciAddress& pci, const std::string& sysfs) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  const auto text = os::read_file(sysfs + "/bus/pci/devices/" + name.data() + "/numa_node", 64);
  if (!text) return std::nullopt;
  int node = -1;
  std::from_chars(text->data(), text->data() + text->size(), node);
  if (node < 0) return std::nullopt;  // the kernel's word for a machine that has none
  return node;
}

}  // namespace nvs::plugin
