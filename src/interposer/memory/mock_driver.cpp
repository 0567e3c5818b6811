// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/mock_driver.h"

#include "interposer/exports/test_real.h"
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {
namespace {

MockDriver driver;

// An out parameter is the first one and a pointer to a number or to a handle.
void give(unsigned long long* out) { *out = driver.given; }
void give(unsigned int* out) { *out = static_cast<unsigned int>(driver.given); }
template <class Object>
void give(Object** out) {
  *out = handle_of<Object*>(driver.given);
}
template <class Other>
void give(Other) {}

void give_pitch(size_t* out) { *out = driver.pitch; }
void give_pitch(unsigned int* out) { *out = static_cast<unsigned int>(driver.pitch); }
template <class Other>
void give_pitch(Other) {}

template <class Type>
bool is_null(Type value) {
  if constexpr (std::is_pointer_v<Type>) return value == nullptr;
  return false;
}

template <Row row, class Function = typename RowFunction<row>::Type>
struct Scripted;
template <Row row, class First, class... Rest>
struct Scripted<row, CUresult(First, Rest...)> {
  static CUresult call(First first, Rest... rest) {
    driver.calls.emplace_back(row_name(row));
    if (driver.during) driver.during();
    if (driver.result != CUDA_SUCCESS) return driver.result;
    if (!is_null(first)) give(first);
    if constexpr (row == Row::cuMemAllocPitch || row == Row::cuMemAllocPitch_v2) {
      give_pitch(std::get<0>(std::tuple<Rest...>(rest...)));
    }
    return CUDA_SUCCESS;
  }
};

template <Row... rows>
void install_scripted() {
  (set_real_for_test<rows>(&Scripted<rows>::call), ...);
}

CUresult get_current(CUcontext* out) {
  driver.calls.emplace_back("cuCtxGetCurrent");
  if (driver.answer == CUDA_SUCCESS) *out = driver.current;
  return driver.answer;
}

CUresult get_device(CUdevice* out) {
  driver.calls.emplace_back("cuCtxGetDevice");
  if (driver.answer == CUDA_SUCCESS) *out = driver.device;
  return driver.answer;
}

CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* out) {
  driver.calls.emplace_back("cuStreamIsCapturing");
  driver.asked_stream = stream;
  if (driver.answer == CUDA_SUCCESS) *out = driver.capture;
  return driver.answer;
}

CUresult get_primary_state(CUdevice, unsigned* flags, int* active) {
  driver.calls.emplace_back("cuDevicePrimaryCtxGetState");
  *flags = 0;
  *active = driver.primary_active;
  return driver.answer;
}

CUresult get_range(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  driver.calls.emplace_back("cuMemGetAddressRange_v2");
  if (driver.answer != CUDA_SUCCESS) return driver.answer;
  if (base != nullptr) *base = address;
  if (size != nullptr) *size = driver.range_bytes;
  return CUDA_SUCCESS;
}

CUresult get_properties(CUmemAllocationProp* prop, CUmemGenericAllocationHandle) {
  driver.calls.emplace_back("cuMemGetAllocationPropertiesFromHandle");
  if (driver.answer == CUDA_SUCCESS) prop->location = driver.location;
  return driver.answer;
}

}  // namespace

MockDriver& mock_driver() { return driver; }

void install_mock_driver() {
  driver = MockDriver{};
  books().after_fork();
  install_scripted<
      Row::cuMemAlloc, Row::cuMemAlloc_v2, Row::cuMemAllocPitch, Row::cuMemAllocPitch_v2,
      Row::cuMemAllocManaged, Row::cuMemAllocAsync, Row::cuMemAllocAsync_ptsz,
      Row::cuMemAllocFromPoolAsync, Row::cuMemAllocFromPoolAsync_ptsz, Row::cuMemFree,
      Row::cuMemFree_v2, Row::cuMemFreeAsync, Row::cuMemFreeAsync_ptsz, Row::cuArrayCreate,
      Row::cuArrayCreate_v2, Row::cuArray3DCreate, Row::cuArray3DCreate_v2, Row::cuArrayDestroy,
      Row::cuMipmappedArrayCreate, Row::cuMipmappedArrayDestroy, Row::cuMemCreate,
      Row::cuMemImportFromShareableHandle, Row::cuMemMap, Row::cuMemRetainAllocationHandle,
      Row::cuMemRelease, Row::cuMemUnmap, Row::cuIpcOpenMemHandle, Row::cuIpcOpenMemHandle_v2,
      Row::cuIpcCloseMemHandle, Row::cuMemPoolImportPointer, Row::cuImportExternalMemory,
      Row::cuDestroyExternalMemory, Row::cuCtxCreate, Row::cuCtxCreate_v2, Row::cuCtxCreate_v3,
      Row::cuCtxCreate_v4, Row::cuGLCtxCreate, Row::cuGLCtxCreate_v2, Row::cuVDPAUCtxCreate,
      Row::cuVDPAUCtxCreate_v2, Row::cuCtxDestroy, Row::cuCtxDestroy_v2, Row::cuCtxDetach,
      Row::cuDevicePrimaryCtxRetain, Row::cuDevicePrimaryCtxRelease,
      Row::cuDevicePrimaryCtxRelease_v2, Row::cuDevicePrimaryCtxReset,
      Row::cuDevicePrimaryCtxReset_v2>();
  set_real_for_test<Row::cuCtxGetCurrent>(&get_current);
  set_real_for_test<Row::cuCtxGetDevice>(&get_device);
  set_real_for_test<Row::cuStreamIsCapturing>(&is_capturing);
  set_real_for_test<Row::cuDevicePrimaryCtxGetState>(&get_primary_state);
  set_real_for_test<Row::cuMemGetAddressRange_v2>(&get_range);
  set_real_for_test<Row::cuMemGetAllocationPropertiesFromHandle>(&get_properties);
}

}  // namespace nvs::interposer::memory
