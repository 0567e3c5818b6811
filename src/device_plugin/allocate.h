// SPDX-License-Identifier: Apache-2.0
// What a container gets with its devices: the GPU, the library, the way to the daemon, and the name
// of its slot. The kubelet waits for the answer without a deadline and remembers it for as long as
// the pod lives, so it comes from memory, and the host's paths in it never change their content.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "device_plugin/config.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

// Where things are in every container.
inline constexpr const char* kContainerLibrary = "/usr/lib/nvshare/libnvshare.so";
inline constexpr const char* kContainerPreload = "/etc/ld.so.preload";
inline constexpr const char* kContainerTenantFolder = "/var/run/nvshare/tenant";
inline constexpr const char* kCdiKind = "nvshare.com/gpu";

// Where they are on the host.
struct HostPaths {
  std::string library;
  std::string preload;
  std::string tenant_folder;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool operator==(const Mount&) const = default;
};

// A device file, to be read and written.
struct DeviceFile {
  std::string container_path;
  std::string host_path;
  bool is_optional = false;  // passed only if it is there
  bool operator==(const DeviceFile&) const = default;
};

// All mounts are read-only.
struct ContainerAnswer {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceFile> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
};

struct AllocateError {
  enum class Kind : std::uint8_t { unknown_device, too_many } kind;
  std::string text;
};

tl::expected<ContainerAnswer, AllocateError> allocate(const std::vector<std::string>& ids,
                                                      const OfferedResource& resource,
                                                      const Inventory& inventory,
                                                      const Config& config, const HostPaths& host);

// Whether containers are given device files. NVIDIA's plugin leaves them to CDI where nothing else
// is asked for, and so do we.
bool gives_device_files(const Config& config);

// The mounts by which the library gets into a container.
std::vector<Mount> library_mounts(const HostPaths& host);

}  // namespace nvs::plugin
