// SPDX-License-Identifier: Apache-2.0
// Makes the node's offer: settings from their file and flags, GPUs from NVML, the library on the
// host, the CDI file where one is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device_plugin/answers.h"
#include "device_plugin/library_install.h"
#include "device_plugin/options.h"
#include "device_plugin/placed_file.h"
#include "nvml/nvml.h"

namespace nvs::plugin {

// The settings that count now, and the file that they came from.
struct LoadedConfig {
  ChosenConfig chosen;
  Config config;
};
Parsed<LoadedConfig> load_config(const PluginOptions& options);

// GPUs as they can be offered. `remarks` are lines for the log.
Parsed<std::vector<OfferedGpu>> find_offered_gpus(const Nvml& nvml, const PluginOptions& options,
                                                  std::string& remarks);

Parsed<InstalledLibrary> install(const PluginOptions& options);
HostPaths host_paths(const PluginOptions& options, const InstalledLibrary& installed);

// Writes the CDI file, if the injection is by CDI. It is never removed, and neither are devices in
// it, nor are those missing that somebody holds: containers of pods that have such a device may
// restart whatever the number of devices is now. Under another injection it stays as it was, and is
// not made anew after a reboot: who changes the injection deletes such pods before.
Parsed<void> write_cdi_file(const PluginOptions& options, const Offer& offer,
                            const std::vector<SlotHolder>& holders);

// Makes the folder of the tenants' socket, if the injection is by CDI and the daemon has not made
// it since the node has started: other ways have the runtime make it, but one that is missing in a
// CDI file lets no container start. Returns a line for the log if it cannot be made; empty if all
// is well. In a pod a mount has made it.
std::string make_tenant_folder(const PluginOptions& options, const Offer& offer);

// A line for the log if device files are passed on and those are missing that every CUDA program
// needs; empty if all is well.
std::string remark_on_control_files(const Config& config, const Answers::HasFile& has_file);

// The node's labels: a line each, as Node Feature Discovery reads them from files.
std::string label_lines(const Offer& offer);
// Writes them to the file that the options name, if they do.
Parsed<PlacedFile> write_labels_file(const PluginOptions& options, const Offer& offer);
// Removes it, if it is still the one that was written: another plugin may have come meanwhile.
void remove_labels_file(const PluginOptions& options, const PlacedFile& ours);

// Lines for people: what is offered.
std::vector<std::string> describe(const Config& config);

// The NUMA node of a PCI device, by the kernel's files below `sysfs`; nothing if it has none.
std::optional<int> numa_node_of(const PciAddress& pci, const std::string& sysfs);

}  // namespace nvs::plugin
