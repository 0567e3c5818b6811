// SPDX-License-Identifier: Apache-2.0
#include "workloads/gpu.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace nvs::workloads {
namespace {

Driver load_driver(const std::string& path) {
  auto driver = Driver::load(path.empty() ? nullptr : path.c_str());
  if (driver) return *std::move(driver);
  throw std::runtime_error(fmt::format(
      "cannot load the CUDA driver: {}\n  Install NVIDIA's driver, or run on the simulator with "
      "--driver build/lib/sim/libcuda.so.1.",
      driver.error()));
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

Gpu::Gpu(const GpuOptions& options)
    : driver_(load_driver(options.driver_path)), memory_kind_(options.memory) {
  NVS_CU(*this, cuInit, 0u);
  // The simulator knows its machine, and so its scale, only after cuInit.
  if (simulated()) {
    scale_ = driver_.sim()->cusimScale();
    time_factor_ = driver_.sim()->cusimTimeFactor();
  }
  if (options.scale != 0) scale_ = options.scale;
  NVS_CU(*this, cuDeviceGet, &device_, options.device);
  std::array<char, 128> name{};
  NVS_CU(*this, cuDeviceGetName, name.data(), static_cast<int>(name.size()), device_);
  name_ = name.data();
  CUuuid uuid{};
  // The newer one, since 11.4, knows the parts of a GPU that is divided (MIG).
  const bool is_new = driver_.cuDeviceGetUuid_v2 != nullptr;
  call("cuDeviceGetUuid", is_new ? driver_.cuDeviceGetUuid_v2 : driver_.cuDeviceGetUuid, &uuid,
       device_);
  uuid_ = uuid_text(uuid);
  NVS_CU(*this, cuDeviceGetAttribute, &multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
         device_);
  CUcontext context = nullptr;
  NVS_CU(*this, cuDevicePrimaryCtxRetain, &context, device_);
  NVS_CU(*this, cuCtxSetCurrent, context);
  NVS_CU(*this, cuStreamCreate, &stream_, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
}

// Errors are of no interest any more, here and in the other destructors: after a fault every call
// fails, and the first failure has been reported.
Gpu::~Gpu() {
  driver_.cuStreamDestroy_v2(stream_);
  driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

void Gpu::synchronize() const { NVS_CU(*this, cuStreamSynchronize, stream_); }

DeviceMemory::DeviceMemory(const Gpu& gpu, std::uint64_t bytes) : gpu_(gpu) {
  if (gpu.memory_kind() == MemoryKind::kManaged) {
    NVS_CU(gpu, cuMemAllocManaged, &address_, bytes, static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL));
  } else {
    NVS_CU(gpu, cuMemAlloc_v2, &address_, bytes);
  }
}

DeviceMemory::~DeviceMemory() { gpu_.driver().cuMemFree_v2(address_); }

PinnedMemory::PinnedMemory(const Gpu& gpu, std::uint64_t bytes) : gpu_(gpu) {
  NVS_CU(gpu, cuMemHostAlloc, &address_, bytes, 0u);
}

PinnedMemory::~PinnedMemory() { gpu_.driver().cuMemFreeHost(address_); }

}  // namespace nvs::workloads
