// SPDX-License-Identifier: Apache-2.0
// Hooks: how large a GPU is and how much of it is free. The driver is asked first, since it knows
// best what is an error; then the numbers are those of a shared GPU, the same from CUDA and NVML.
#include "cuda_api/nvml.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/visible.h"
#include "interposer/session/gpu_by_uuid.h"
#include "interposer/session/memory.h"
#include "interposer/session/onlooker.h"
#include "interposer/session/session.h"

namespace nvs::interposer::memory {
namespace {

// A total of the driver's that was not asked for.
constexpr std::uint64_t kAny = ~std::uint64_t{0};

bool find_current(Visible& visible) {
  CUdevice device = kUnknownDevice;
  const auto ask = real<Row::cuCtxGetDevice>();
  if (ask == nullptr || ask(&device) != CUDA_SUCCESS) return false;
  return find_visible(device, visible);
}

// Asked before there is a context, the answer must be the one that is given later. So that is when
// the daemon hears of us, if there is one.
bool find_of_device(CUdevice device, Visible& visible) {
  session::gpu_seen(device);
  return find_visible(device, visible);
}

// Devices of NVML are found by what they are called: their order may be another one, and a program
// may see fewer of them. Tools that only look have no session, and programs none on GPUs that they
// do not use; they see what programs of their tenant see.
bool find_of_nvml(nvmlDevice_t device, Visible& visible) {
  constexpr unsigned kTextMax = 96;
  char text[kTextMax] = {};
  const auto ask = real<Row::nvmlDeviceGetUUID>();
  const bool has_session = session::has_any_daemon();
  if (ask == nullptr || (!has_session && !session::may_look())) return false;
  if (ask(device, text, kTextMax) != NVML_SUCCESS) return false;
  const int gpu = has_session ? session::gpu_by_uuid(text) : kUnknownDevice;
  if (gpu >= 0) return find_visible(gpu, visible);
  if (!session::may_look()) return false;
  account::Limit seen;
  if (!session::look_at_gpu(text, visible.total, seen)) return false;
  visible = {seen.bytes, seen.left};
  return true;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

// Of CUDA 3.1: the driver refuses it in every context of today.
CUresult cuMemGetInfo(unsigned int* free, unsigned int* total) {
  return real<Row::cuMemGetInfo>()(free, total);
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const CUresult result = real<Row::cuMemGetInfo_v2>()(free, total);
  if (result != CUDA_SUCCESS) return result;
  Visible visible{total != nullptr ? *total : kAny, free != nullptr ? *free : 0};
  if (!find_current(visible)) return result;
  if (free != nullptr) *free = visible.free;
  if (total != nullptr) *total = visible.total;
  return result;
}

// What does not fit into 32 bits is as much as does.
CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice dev) {
  const CUresult result = real<Row::cuDeviceTotalMem>()(bytes, dev);
  Visible visible{kAny};
  if (result != CUDA_SUCCESS || !find_of_device(dev, visible)) return result;
  if (visible.total < *bytes) *bytes = static_cast<unsigned int>(visible.total);
  return result;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  const CUresult result = real<Row::cuDeviceTotalMem_v2>()(bytes, dev);
  if (result != CUDA_SUCCESS) return result;
  Visible visible{*bytes};
  if (!find_of_device(dev, visible)) return result;
  *bytes = visible.total;
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t result = real<Row::nvmlDeviceGetMemoryInfo>()(device, memory);
  if (result != NVML_SUCCESS) return result;
  Visible visible{memory->total, memory->free};
  if (!find_of_nvml(device, visible)) return result;
  *memory = {visible.total, visible.free, visible.used()};
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t result = real<Row::nvmlDeviceGetMemoryInfo_v2>()(device, memory);
  if (result != NVML_SUCCESS) return result;
  Visible visible{memory->total, memory->free};
  if (!find_of_nvml(device, visible)) return result;
  memory->total = visible.total;
  memory->reserved = 0;
  memory->free = visible.free;
  memory->used = visible.used();
  return result;
}

}  // namespace nvs::hooks
