// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void contexts(Run& run) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  std::size_t size = 0;
  unsigned flags = 0;
  int least = 0;
  CUfunc_cache config{};
  CALL("none", cuCtxGetCurrent, &context);
  CALL("none", cuCtxGetDevice, &device);
  CALL("none", cuCtxSynchronize);
  CALL("none", cuCtxGetFlags, &flags);
  CALL("none", cuCtxGetLimit, &size, CU_LIMIT_STACK_SIZE);
  CALL("none", cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 1024);
  CALL("none", cuCtxGetCacheConfig, &config);
  CALL("none", cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_NONE);
  CALL("none", cuCtxGetStreamPriorityRange, &least, &least);
  CALL("none", cuCtxGetApiVersion, nullptr, &flags);
  CALL("none", cuCtxEnablePeerAccess, nullptr, 0);
  CALL("none", cuCtxDisablePeerAccess, nullptr);
}

void memory(Run& run) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  void* pointer = nullptr;
  char text[16] = {};
  CALL("none", cuMemAlloc_v2, &address, 16);
  CALL("none", cuMemAllocPitch_v2, &address, &size, 16, 16, 4);
  CALL("none, null", cuMemFree_v2, 0);
  CALL("none, no such address", cuMemFree_v2, 4096);
  CALL("none", cuMemGetInfo_v2, &size, &size);
  CALL("none", cuMemHostAlloc, &pointer, 16, 0);
  CALL("none", cuMemAllocHost_v2, &pointer, 16);
  CALL("none, null", cuMemFreeHost, nullptr);
  CALL("none", cuMemHostRegister_v2, text, 16, 0);
  CALL("none", cuMemHostUnregister, text);
  CALL("none", cuMemGetAddressRange_v2, &address, &size, 4096);
  CALL("none", cuMemcpy, address_of(text), address_of(text + 8), 4);
  CALL("none, zero bytes", cuMemcpy, 0, 0, 0);
  CALL("none", cuMemcpyHtoD_v2, 4096, text, 4);
  CALL("none", cuMemcpyDtoH_v2, text, 4096, 4);
  CALL("none", cuMemsetD8_v2, 4096, 0, 4);
  CALL("none", cuMemAllocManaged, &address, 16, CU_MEM_ATTACH_GLOBAL);
  int type = 0;
  CALL("none", cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(text));
}

void vmm(Run& run) {
  const CUmemAllocationProp prop = device_prop();
  std::size_t size = 0;
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  CALL("none", cuMemGetAllocationGranularity, &size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CALL("none", cuMemAddressReserve, &address, 2 * kMiB, 0, 0, 0);
  CALL("none", cuMemCreate, &handle, 2 * kMiB, &prop, 0);
  CALL("none", cuMemMap, address, 2 * kMiB, 0, handle, 0);
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CALL("none", cuMemSetAccess, address, 2 * kMiB, &access, 1);
  unsigned long long flags = 0;
  CALL("none", cuMemGetAccess, &flags, &prop.location, address);
  run.show("access", flags);
  CALL("none", cuMemUnmap, address, 2 * kMiB);
  CALL("none", cuMemRelease, handle);
  CALL("none", cuMemAddressFree, address, 2 * kMiB);
}

void work(Run& run) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUgraph graph = nullptr;
  CUipcMemHandle handle{};
  CALL("none", cuStreamCreate, &stream, 0);
  CALL("none, null stream", cuStreamSynchronize, nullptr);
  CALL("none, null stream", cuStreamQuery, nullptr);
  CALL("none, legacy stream", cuStreamQuery, CU_STREAM_LEGACY);
  CALL("none", cuEventCreate, &event, 0);
  CALL("none", cuModuleLoadData, &module, ptx());
  CALL("none", cuLibraryLoadData, &library, ptx(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CALL("none", cuLibraryGetKernel, &kernel, library, "nvs_fill");
  CALL("none", cuKernelGetFunction, &function, kernel);
  CALL("none", cuLibraryUnload, library);
  CALL("none", cuGraphCreate, &graph, 0);
  CALL("none", cuGraphDestroy, graph);
  CALL("none", cuIpcGetMemHandle, &handle, 4096);
  CUdeviceptr address = 0;
  CALL("none", cuIpcOpenMemHandle_v2, &address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  CALL("none", cuLaunchKernel, nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  CALL(
      "none", cuLaunchHostFunc, nullptr, [](void*) {}, nullptr);
}

// A stream knows its context: which calls need a current one all the same?
void stream_of_context(Run& run) {
  const CUcontext context = new_context(run);
  const CUstream stream = new_stream(run);
  const CUevent event = new_event(run);
  const CUdeviceptr address = allocate(run, kMiB);
  const Kernels kernels = load_kernels(run);
  SETUP(cuCtxSetCurrent, nullptr);
  CALL("none", cuStreamQuery, stream);
  CALL("none", cuStreamSynchronize, stream);
  CALL("none", cuEventRecord, event, stream);
  CALL("none", cuEventSynchronize, event);
  CALL("none", cuEventQuery, event);
  CALL("none", cuStreamWaitEvent, stream, event, 0);
  CALL("none, on a stream", cuMemsetD8Async, address, 1, kMiB, stream);
  CALL("none", cuMemsetD8_v2, address, 1, kMiB);
  run.show("nvs_fill without a context, on a stream",
           launch_fill(run, kernels.fill, address, 1, 16, stream));
  run.show("nvs_fill without a context, null stream",
           launch_fill(run, kernels.fill, address, 1, 16, nullptr));
  CALL("none", cuStreamDestroy_v2, stream);
  CALL("none", cuEventDestroy_v2, event);
  CALL("none", cuMemFree_v2, address);
  CALL("none", cuModuleUnload, kernels.module);
  CALL("none", cuCtxDestroy_v2, context);
}

}  // namespace

Section no_context_section() {
  return {"no_context",
          Start::kInit,
          {
              {"contexts", contexts},
              {"memory", memory},
              {"vmm", vmm},
              {"work", work},
              {"stream_of_context", stream_of_context},
          }};
}

}  // namespace nvs::conformance
