// SPDX-License-Identifier: Apache-2.0
// NVML of whatever driver the node has: each question is put to the newest function that the
// library exports and, where that is missing or not supported, to the ones before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "cuda_api/nvml_types.h"

namespace nvs {

struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  auto operator<=>(const PciAddress&) const = default;
};

// A part of a GPU in MIG mode. The numbers have gaps where no instance was made.
struct MigInstance {
  unsigned index = 0;
  nvmlDevice_t device = nullptr;
};

// By which the driver knows an instance of a GPU.
struct InstanceIds {
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  bool operator==(const InstanceIds&) const = default;
};

// What the driver says of a GPU on which something went wrong.
struct XidEvent {
  std::optional<std::string> uuid;  // nothing: the GPU does not even say who it is
  std::uint64_t xid = 0;
  // Where the driver can tell: of the instances of a GPU in MIG mode, those that it happened to.
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
};

// A process that computes on a GPU.
struct ProcessMemory {
  unsigned pid = 0;
  std::optional<std::uint64_t> bytes = {};  // what it has there, context and all, if NVML knows
  bool operator==(const ProcessMemory&) const = default;
};

// An answer, or NVML's own words for why there is none.
template <class T>
using NvmlResult = tl::expected<T, std::string>;

// What $NVSHARE_NVML names, else libnvidia-ml.so.1.
const char* nvml_path();

class Nvml {
 public:
  // Opens and initialises the library; both are undone when the object goes.
  static NvmlResult<Nvml> open(const char* path);

  // How many GPUs there are; some may be out of reach.
  NvmlResult<unsigned> count() const;
  NvmlResult<nvmlDevice_t> gpu(unsigned index) const;
  // A GPU or an instance.
  NvmlResult<nvmlDevice_t> gpu_of(const std::string& uuid) const;

  NvmlResult<std::string> uuid(nvmlDevice_t device) const;
  NvmlResult<std::string> name(nvmlDevice_t device) const;
  NvmlResult<PciAddress> pci(nvmlDevice_t device) const;
  // N of /dev/nvidiaN.
  NvmlResult<unsigned> minor_number(nvmlDevice_t device) const;
  // What programs can have: the total, less what the driver keeps for itself where NVML says how
  // much that is.
  NvmlResult<std::uint64_t> memory_bytes(nvmlDevice_t device) const;
  // What of it nobody has now.
  NvmlResult<std::uint64_t> free_bytes(nvmlDevice_t device) const;
  // The part of the time in which a kernel ran, of anybody, lately (a second at most). MIG
  // instances do not have it.
  NvmlResult<double> busy_part(nvmlDevice_t device) const;

  bool in_mig_mode(nvmlDevice_t device) const;
  std::vector<MigInstance> mig_instances(nvmlDevice_t device) const;
  NvmlResult<InstanceIds> instance_ids(nvmlDevice_t instance) const;

  bool has_mps_clients(nvmlDevice_t device) const;
  // Each once, in the order of their pids. Those that only draw, and clients of MPS, are in lists
  // of their own.
  NvmlResult<std::vector<ProcessMemory>> compute_processes(nvmlDevice_t device) const;

  // What goes wrong on GPUs. The set is to be freed before this object goes.
  NvmlResult<nvmlEventSet_t> make_event_set() const;
  void free_event_set(nvmlEventSet_t set) const;
  // Critical Xid errors of a GPU are events of the set from here on.
  NvmlResult<void> listen(nvmlEventSet_t set, nvmlDevice_t gpu) const;
  // The next event; nothing if none came in that time.
  NvmlResult<std::optional<XidEvent>> wait_for_event(nvmlEventSet_t set, unsigned timeout_ms) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  using Library = std::unique_ptr<void, Close>;

  explicit Nvml(Library library) : library_(std::move(library)) {}

  // The library's function of that name and type, or null.
  template <class Function>
  Function* find(const char* symbol) const;
  std::string words(nvmlReturn_t result) const;
  NvmlResult<std::vector<ProcessMemory>> processes(const char* function, nvmlDevice_t device) const;

  Library library_;
};

}  // namespace nvs
