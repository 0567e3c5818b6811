// SPDX-License-Identifier: Apache-2.0
#include "nvml/gpus.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "nvml/nvml.h"

namespace nvs {
namespace {

constexpr std::size_t kUuidDigits = 36;                     // with its dashes
constexpr std::string_view kMpsServer = "nvidia-cuda-mps";  // the kernel keeps 15 characters

bool is_dash_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

void remark(std::string& remarks, const std::string& line) {
  if (!remarks.empty()) remarks += '\n';
  remarks += line;
}

// The servers themselves are compute processes, before and after they have clients. The pipe folder
// of MPS is no sign: it stays when the control daemon is killed, and does not say which GPUs.
bool has_mps_server(const Nvml& nvml, nvmlDevice_t device) {
  const NvmlResult<std::vector<ProcessMemory>> processes = nvml.compute_processes(device);
  if (!processes) return false;
  for (const ProcessMemory& process : *processes) {
    std::ifstream file("/proc/" + std::to_string(process.pid) + "/comm");
    std::string name;
    if (std::getline(file, name) && name == kMpsServer) return true;
  }
  return false;
}

class Finder {
 public:
  Finder(const Nvml& nvml, std::string& remarks) : nvml_(nvml), remarks_(remarks) {}

  void add(unsigned index) {
    const NvmlResult<nvmlDevice_t> device = nvml_.gpu(index);
    if (!device) {
      remark(remarks_, "GPU " + std::to_string(index) + " is left out: " + device.error());
      return;
    }
    std::vector<Gpu> found = gpus_of(*device, index);
    const PciAddress pci = nvml_.pci(*device).value_or(last_pci_);
    last_pci_ = pci;
    const NvmlResult<std::string> uuid = nvml_.uuid(*device);
    const NvmlResult<unsigned> minor = nvml_.minor_number(*device);
    for (Gpu& gpu : found) {
      if (minor) gpu.minor_number = *minor;
      gpu.pci = pci;
      gpu.parent_uuid = uuid.value_or(gpu.uuid);
      gpus_.push_back(std::move(gpu));
    }
  }

  std::vector<Gpu> take() {
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [](const Gpu& a, const Gpu& b) { return a.pci < b.pci; });
    return std::move(gpus_);
  }

 private:
  // The GPU itself, or its instances.
  std::vector<Gpu> gpus_of(nvmlDevice_t device, unsigned index) {
    const std::string number = std::to_string(index);
    const std::string label = "GPU " + number;
    if (!nvml_.in_mig_mode(device)) return describe(device, number, label);
    std::vector<Gpu> instances;
    for (const MigInstance& instance : nvml_.mig_instances(device)) {
      const NvmlResult<std::string> uuid = nvml_.uuid(instance.device);
      if (uuid && uuid->starts_with("MIG-GPU-")) {
        remark(remarks_, label + " is in MIG mode, but its driver (before 470) has no names for" +
                             " instances that programs know: it is scheduled as one GPU");
        return describe(device, number, label);
      }
      const std::string own_number = number + ":" + std::to_string(instance.index);
      for (Gpu& gpu : describe(instance.device, own_number, "a MIG instance of " + label)) {
        gpu.is_mig = true;
        if (const auto ids = nvml_.instance_ids(instance.device)) gpu.instance = *ids;
        instances.push_back(std::move(gpu));
      }
    }
    if (instances.empty()) remark(remarks_, label + " is in MIG mode and has no instances");
    return instances;
  }

  // One, or none if it has no UUID: programs could not name it.
  std::vector<Gpu> describe(nvmlDevice_t device, const std::string& number,
                            const std::string& label) {
    const NvmlResult<std::string> uuid = nvml_.uuid(device);
    const std::optional<UuidBytes> bytes = uuid ? parse_uuid(*uuid) : std::nullopt;
    if (!bytes) {
      const std::string why = uuid ? "its UUID is '" + *uuid + "'" : uuid.error();
      remark(remarks_, label + " is left out: " + why);
      return {};
    }
    Gpu gpu;
    gpu.uuid = *uuid;
    gpu.uuid_bytes = *bytes;
    gpu.index = number;
    gpu.name = nvml_.name(device).value_or("unknown");
    if (const auto memory = nvml_.memory_bytes(device))
      gpu.memory_bytes = *memory;
    else
      remark(remarks_, *uuid + ": the size of its memory is not known: " + memory.error());
    gpu.mps_active = nvml_.has_mps_clients(device) || has_mps_server(nvml_, device);
    return {std::move(gpu)};
  }

  const Nvml& nvml_;
  std::string& remarks_;
  PciAddress last_pci_;  // a GPU without an address stays behind the one before it
  std::vector<Gpu> gpus_;
};

}  // namespace

Result<std::vector<Gpu>> find_gpus(std::string& remarks) {
  const NvmlResult<Nvml> nvml = Nvml::open(nvml_path());
  if (!nvml) {
    remark(remarks, std::string(nvml_path()) + ": " + nvml.error());
    return tl::unexpected(
        Error{Errc::kNotFound, 0, "NVML is not usable; is the driver installed?"});
  }
  return find_gpus(*nvml, remarks);
}

Result<std::vector<Gpu>> find_gpus(const Nvml& nvml, std::string& remarks) {
  const NvmlResult<unsigned> count = nvml.count();
  if (!count) {
    remark(remarks, std::string(nvml_path()) + ": GPUs cannot be counted: " + count.error());
    return tl::unexpected(Error{Errc::kNotFound, 0, "NVML does not say which GPUs there are"});
  }
  Finder finder(nvml, remarks);
  for (unsigned index = 0; index < *count; ++index) finder.add(index);
  std::vector<Gpu> gpus = finder.take();
  if (gpus.empty()) return tl::unexpected(Error{Errc::kNotFound, 0, "NVML finds no usable GPU"});
  return gpus;
}

std::optional<UuidBytes> parse_uuid(std::string_view text) {
  if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return std::nullopt;
  text.remove_prefix(4);
  if (text.size() != kUuidDigits) return std::nullopt;
  UuidBytes bytes{};
  std::size_t digits = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (is_dash_place(place)) {
      if (text[place] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[place]);
    if (value < 0) return std::nullopt;
    std::uint8_t& byte = bytes[digits / 2];
    byte = static_cast<std::uint8_t>((byte << 4U) | value);
    ++digits;
  }
  return bytes;
}

std::string uuid_text(std::string_view kind, const UuidBytes& bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kind);
  text += '-';
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    text += kDigits[bytes[index] >> 4U];
    text += kDigits[bytes[index] & 15U];
  }
  return text;
}

}  // namespace nvs
