// SPDX-License-Identifier: Apache-2.0
// What the plugin offers and how containers get it, as its settings say: a file of its own kind or
// one of NVIDIA's device plugin, and flags that count more than either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace nvs::plugin {

// A value, or a sentence for whoever wrote the settings: "FILE:LINE: reason" for a file.
template <class T>
using Parsed = tl::expected<T, std::string>;

// How the library gets into a container.
enum class Injection : std::uint8_t {
  ld_so_preload,  // mounted as /etc/ld.so.preload: a pod's own LD_PRELOAD works beside it
  cdi_cri,        // the same mounts by way of a CDI device of ours
  env,            // LD_PRELOAD, which a pod's own one would replace
};

// How the GPU gets into a container, in the words of NVIDIA's plugin.
enum class DeviceList : std::uint8_t { envvar, volume_mounts, cdi_annotations, cdi_cri };
enum class DeviceNames : std::uint8_t { uuid, index };
enum class Spread : std::uint8_t { distributed, packed };
// Under which name MIG instances are offered: as GPUs, or by their profile.
enum class MigNames : std::uint8_t { as_gpus, by_profile };

inline constexpr const char* kOwnResource = "nvshare.com/gpu";
inline constexpr const char* kNvidiaResource = "nvidia.com/gpu";
inline constexpr unsigned kReplicasMax = 1000;
inline constexpr double kRatioMax = 100;
// Of an annotation with CDI devices, between the prefix and the UUID of the first one.
inline constexpr const char* kCdiAnnotationName = "nvshare_";
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

// Some GPUs as so many devices each.
struct SharedResource {
  std::string name;
  unsigned replicas = 1;
  std::string mig_profile = {};  // "1g.10gb": those instances; empty: all that is offered as a GPU
  bool operator==(const SharedResource&) const = default;
};

// Memory as a resource of its own: whoever asks for it is limited to it.
struct MemoryResource {
  bool is_offered = false;
  std::string name = "nvshare.com/gpu-memory";
  std::uint64_t unit_bytes = kGiB;
  double ratio = 1;  // how much of a GPU's memory may be promised in all
  bool operator==(const MemoryResource&) const = default;
};

// Compute time likewise, in percent of a GPU.
struct CoreResource {
  bool is_offered = false;
  std::string name = "nvshare.com/gpu-core";
  bool operator==(const CoreResource&) const = default;
};

struct Config {
  std::vector<SharedResource> resources = {{.name = kOwnResource, .replicas = 10}};
  // NVIDIA's plugin offers what its file does not mention as whole GPUs, and so do we for its file.
  bool offers_the_rest = false;
  MigNames mig_names = MigNames::as_gpus;
  Injection injection = Injection::ld_so_preload;
  std::vector<DeviceList> device_lists = {DeviceList::envvar};
  DeviceNames device_names = DeviceNames::uuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  // Device files of the GPU are named to the kubelet too, so that it allows them itself; on the
  // host they are below this folder.
  bool passes_device_files = false;
  std::string device_root = "/";
  Spread spread = Spread::distributed;
  bool fails_requests_greater_than_one = false;
  bool fails_without_gpus = true;
  MemoryResource memory = {};
  CoreResource cores = {};
  std::vector<std::string> warnings = {};  // what was accepted and has no effect
};

// What flags and the environment say; they count more than a file.
struct ConfigFlags {
  std::optional<std::string> resource = {};
  std::optional<unsigned> replicas = {};
  std::optional<Injection> injection = {};
  std::optional<std::vector<DeviceList>> device_lists = {};
  std::optional<Spread> spread = {};
  std::optional<bool> fails_requests_greater_than_one = {};
  std::optional<double> memory_ratio = {};  // offers memory
  std::optional<std::uint64_t> memory_unit_bytes = {};
  std::optional<bool> offers_cores = {};
};

// The words of the settings; nothing for others.
std::optional<Injection> parse_injection(const std::string& word);
std::optional<DeviceList> parse_device_list(const std::string& word);
std::optional<Spread> parse_spread(const std::string& word);

// The whole text of a file of either kind; `file` is what messages call it.
Parsed<Config> parse_config(const std::string& text, const std::string& file);

// The error is a sentence: the file and the flags do not go together.
Parsed<Config> with_flags(Config config, const ConfigFlags& flags);

}  // namespace nvs::plugin
