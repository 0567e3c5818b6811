// SPDX-License-Identifier: Apache-2.0
// A program that is linked to the driver and uses a good part of it: all kinds of allocation,
// launches, copies, a capture, memory shared with others. Prints what reached the driver.
#include <string>

#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;

CUstream g_stream = nullptr;

void allocate_and_free() {
  CUdeviceptr plain = 0;
  CUdeviceptr pitched = 0;
  CUdeviceptr managed = 0;
  std::size_t pitch = 0;
  NVS_DO(cuMemAlloc_v2(&plain, kBytes + 1));
  NVS_DO(cuMemAllocPitch_v2(&pitched, &pitch, 1000, 20, 4));
  NVS_DO(cuMemAllocManaged(&managed, kBytes + 2, 1));
  std::printf("pitch %zu\n", pitch);
  CUdeviceptr async = 0;
  CUdeviceptr pooled = 0;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps pool_props{};
  NVS_DO(cuMemAllocAsync(&async, kBytes + 3, g_stream));
  NVS_DO(cuMemPoolCreate(&pool, &pool_props));
  NVS_DO(cuMemAllocFromPoolAsync(&pooled, kBytes + 4, pool, g_stream));
  void* host = nullptr;
  NVS_DO(cuMemHostAlloc(&host, kBytes, 1));
  NVS_DO(cuMemcpyHtoD_v2(plain, host, 101));
  NVS_DO(cuMemcpyDtoH_v2(host, plain, 102));
  NVS_DO(cuMemcpyHtoDAsync_v2(plain + 1, host, 103, g_stream));
  NVS_DO(cuMemcpyDtoHAsync_v2(host, plain + 2, 104, g_stream));
  NVS_DO(cuMemsetD8_v2(plain, 105, 106));
  NVS_DO(cuMemsetD32Async(plain, 107, 108, g_stream));
  NVS_DO(cuMemFreeHost(host));
  NVS_DO(cuMemFreeAsync(async, g_stream));
  NVS_DO(cuMemFreeAsync(pooled, g_stream));
  NVS_DO(cuMemPoolDestroy(pool));
  NVS_DO(cuMemFree_v2(managed));
  NVS_DO(cuMemFree_v2(pitched));
  NVS_DO(cuMemFree_v2(plain));
}

void map_memory() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  NVS_DO(cuMemAddressReserve(&address, 4 * kBytes, 0, 0, 0));
  NVS_DO(cuMemCreate(&handle, 2 * kBytes, &prop, 0));
  NVS_DO(cuMemMap(address, 2 * kBytes, 0, handle, 0));
  CUmemAccessDesc access{};
  NVS_DO(cuMemSetAccess(address, 2 * kBytes, &access, 1));
  NVS_DO(cuMemUnmap(address, 2 * kBytes));
  NVS_DO(cuMemRelease(handle));
  NVS_DO(cuMemAddressFree(address, 4 * kBytes));
}

void share_memory() {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = 64;
  descriptor.Height = 32;
  descriptor.NumChannels = 1;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  NVS_DO(cuArray3DCreate_v2(&array, &descriptor));
  NVS_DO(cuArrayDestroy(array));
  CUdeviceptr theirs = 0;
  CUipcMemHandle handle{};
  NVS_DO(cuIpcOpenMemHandle_v2(&theirs, handle, 1));
  NVS_DO(cuIpcCloseMemHandle(theirs));
  CUexternalMemory external = nullptr;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC external_descriptor{};
  external_descriptor.size = kBytes;
  NVS_DO(cuImportExternalMemory(&external, &external_descriptor));
  CUdeviceptr mapped = 0;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = kBytes;
  NVS_DO(cuExternalMemoryGetMappedBuffer(&mapped, external, &buffer));
  NVS_DO(cuMemFree_v2(mapped));
  NVS_DO(cuDestroyExternalMemory(external));
}

void launch_and_capture() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  NVS_DO(cuModuleLoadData(&module, "ptx"));
  NVS_DO(cuModuleGetFunction(&function, module, "kernel"));
  int value = 5;
  void* parameters[] = {&value, nullptr};
  NVS_DO(cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, g_stream, parameters, nullptr));
  NVS_DO(cuLaunchKernel_ptsz(function, 11, 12, 13, 14, 15, 16, 17, g_stream, nullptr, parameters));
  CUlaunchConfig config{};
  config.gridDimX = 21;
  config.hStream = g_stream;
  NVS_DO(cuLaunchKernelEx(&config, function, parameters, nullptr));
  NVS_DO(cuStreamBeginCapture_v2(g_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  NVS_DO(cuLaunchKernel(function, 31, 1, 1, 1, 1, 1, 0, g_stream, parameters, nullptr));
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  NVS_DO(cuStreamEndCapture(g_stream, &graph));
  NVS_DO(cuGraphInstantiateWithFlags(&executable, graph, 0));
  NVS_DO(cuGraphLaunch(executable, g_stream));
  NVS_DO(cuStreamSynchronize(g_stream));
}

void print_log() {
  std::string text(std::size_t{1} << 16U, '\0');
  text.resize(NVS_FIND(fake_log)(text.data(), text.size()));
  std::fputs(text.c_str(), stdout);
}

int run() {
  NVS_DO(cuInit(0));
  CUcontext context = nullptr;
  CUcontext primary = nullptr;
  NVS_DO(cuCtxCreate_v2(&context, 8, 1));
  NVS_DO(cuStreamCreate(&g_stream, 1));
  allocate_and_free();
  map_memory();
  share_memory();
  launch_and_capture();
  std::size_t free = 0;
  std::size_t total = 0;
  NVS_DO(cuMemGetInfo_v2(&free, &total));
  std::printf("%zu of %zu\n", free, total);
  NVS_DO(cuDevicePrimaryCtxRetain(&primary, 0));
  NVS_DO(cuCtxSetCurrent(primary));
  CUdeviceptr kept = 0;
  NVS_DO(cuMemAlloc_v2(&kept, 4096));
  NVS_DO(cuDevicePrimaryCtxRelease_v2(0));
  NVS_DO(cuStreamDestroy_v2(g_stream));
  NVS_DO(cuCtxDestroy_v2(context));
  print_log();
  evidence_of("cuLaunchKernel", &cuLaunchKernel);
  return 0;
}

}  // namespace
}  // namespace nvs::program

int main() { return nvs::program::run(); }
