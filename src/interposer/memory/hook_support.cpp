// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hook_support.h"

#include "interposer/debug/log.h"
#include "interposer/memory/report.h"
#include "interposer/session/contexts.h"

namespace nvs::interposer::memory {

int current_device() {
  CUdevice device = kUnknownDevice;
  auto* ask = real<Row::cuCtxGetDevice>();
  if (ask == nullptr || ask(&device) != CUDA_SUCCESS) return kUnknownDevice;
  return device;
}

Owner current_context() {
  CUcontext context = nullptr;
  auto* ask = real<Row::cuCtxGetCurrent>();
  if (ask == nullptr || ask(&context) != CUDA_SUCCESS) return {};
  return {OwnerType::context, number_of(context)};
}

Owner owner_here() {
  const Owner here = current_context();
  const auto context = reinterpret_cast<CUcontext>(here.value);
  if (!contexts::may_be_green(context)) return here;
  return {OwnerType::context, number_of(contexts::owner_for(context, current_device()))};
}

void count_here(Allocation allocation) {
  allocation.owner = owner_here();
  if (books().allocated(allocation)) return;
  const int device = current_device();
  books().allocated(allocation, device);
  const bool is_primary = books().primary_of(device) == allocation.owner.value;
  log_context(allocation.owner.value, is_primary ? RowUse::primary_context : RowUse::context,
              device, "first used");
}

void count_handle(std::uint64_t handle, MemoryKind kind, std::uint64_t bytes, int device,
                  const Reserved& reserved) {
  books().allocated({.space = Space::vmm_handle,
                     .kind = kind,
                     .id = handle,
                     .bytes = bytes,
                     .owner = device_owner(device),
                     .reserved = reserved},
                    device);
}

void log_context(std::uint64_t context, RowUse use, int device, const char* event) {
  if (!debug::enabled()) return;
  CUuuid uuid{};
  auto* ask = real<Row::cuDeviceGetUuid_v2>();
  const bool has_uuid = ask != nullptr && device >= 0 && ask(&uuid, device) == CUDA_SUCCESS;
  report_context(context, use, device, has_uuid ? &uuid : nullptr, event);
}

}  // namespace nvs::interposer::memory
