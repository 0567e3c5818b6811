// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

// Each of these is the first call of its process, so none can profit from what another has
// initialised.
#define FIRST_CALL(function, ...)                                                             \
  Step {                                                                                      \
#function, [](Run & run) { CALL("before cuInit", function, __VA_ARGS__); }, Process::kOwn \
  }

int g_int = 0;
unsigned g_unsigned = 0;
std::size_t g_size = 0;
char g_text[64];
void* g_pointer = nullptr;
const char* g_string = nullptr;
CUdeviceptr g_address = 0;
CUcontext g_context = nullptr;
CUstream g_stream = nullptr;
CUevent g_event = nullptr;
CUmodule g_module = nullptr;
CUgraph g_graph = nullptr;
CUlibrary g_library = nullptr;
CUipcMemHandle g_ipc{};
CUmemGenericAllocationHandle g_handle = 0;
const CUmemAllocationProp g_prop = device_prop();

void versions(Run& run) {
  int version = 0;
  CALL("before cuInit", cuDriverGetVersion, &version);
  run.show("driver version", version);
  CALL("null", cuDriverGetVersion, nullptr);
}

void names(Run& run) {
  CALL("before cuInit", cuGetErrorName, CUDA_ERROR_OUT_OF_MEMORY, &g_string);
  run.show("name", g_string == nullptr ? "null" : g_string);
  CALL("before cuInit", cuGetErrorString, CUDA_ERROR_OUT_OF_MEMORY, &g_string);
  run.show("text", g_string == nullptr ? "null" : g_string);
}

void proc_address(Run& run) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  CALL("cuInit before cuInit", cuGetProcAddress_v2, "cuInit", &function, 13000, 0, &status);
  run.show("found", function != nullptr);
  run.show("status", status);
}

void flags(Run& run) {
  CALL("flags 1", cuInit, 1);
  CALL("flags 0x80000000", cuInit, 0x80000000U);
  CALL("count after refused flags", cuDeviceGetCount, &g_int);
  CALL("flags 0", cuInit, 0);
  CALL("again", cuInit, 0);
  CALL("flags 1 when initialised", cuInit, 1);
  CALL("after cuInit", cuDeviceGetCount, &g_int);
}

void visible(Run& run, const char* devices) {
  ::setenv("CUDA_VISIBLE_DEVICES", devices, 1);
  g_int = -1;
  CALL("", cuInit, 0);
  CALL("", cuDeviceGetCount, &g_int);
  run.show("count", g_int);
  CUdevice device = -1;
  CALL("0", cuDeviceGet, &device, 0);
}

void fork_after_init(Run& run) {
  SETUP(cuInit, 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    CALL("in a forked child", cuDeviceGetCount, &g_int);
    CALL("in a forked child", cuInit, 0);
    CALL("in a forked child", cuCtxGetCurrent, &g_context);
    CALL("in a forked child", cuDriverGetVersion, &g_int);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  run.show("child ended well", WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CALL("parent after the fork", cuDeviceGetCount, &g_int);
}

void after_init(Run& run) {
  SETUP(cuInit, 0);
  CALL("no context yet", cuCtxGetCurrent, &g_context);
  run.show("current is null", g_context == nullptr);
  CALL("no context yet", cuCtxGetDevice, &g_int);
  CALL("no context yet", cuMemAlloc_v2, &g_address, 16);
  CALL("null, no context yet", cuMemFree_v2, 0);
  CALL("no context yet", cuMemHostAlloc, &g_pointer, 16, 0);
  CALL("no context yet", cuCtxSynchronize);
}

}  // namespace

Section init_section() {
  return {"init",
          Start::kNothing,
          {
              {"versions", versions, Process::kOwn},
              {"names", names, Process::kOwn},
              {"proc_address", proc_address, Process::kOwn},
              {"flags", flags, Process::kOwn},
              {"after", after_init, Process::kOwn},
              {"no_visible", [](Run& run) { visible(run, ""); }, Process::kOwn},
              {"bad_visible", [](Run& run) { visible(run, "99"); }, Process::kOwn},
              {"minus_visible", [](Run& run) { visible(run, "-1"); }, Process::kOwn},
              {"first_visible", [](Run& run) { visible(run, "0,99"); }, Process::kOwn},
              {"twice_visible", [](Run& run) { visible(run, "0,0"); }, Process::kOwn},
              {"fork", fork_after_init, Process::kOwn},
              FIRST_CALL(cuDeviceGetCount, &g_int),
              FIRST_CALL(cuDeviceGet, &g_int, 0),
              FIRST_CALL(cuDeviceGetName, g_text, 64, 0),
              FIRST_CALL(cuDeviceGetAttribute, &g_int, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
              FIRST_CALL(cuDeviceTotalMem_v2, &g_size, 0),
              FIRST_CALL(cuDeviceCanAccessPeer, &g_int, 0, 0),
              FIRST_CALL(cuDevicePrimaryCtxRetain, &g_context, 0),
              FIRST_CALL(cuDevicePrimaryCtxGetState, 0, &g_unsigned, &g_int),
              FIRST_CALL(cuCtxCreate_v4, &g_context, nullptr, 0, 0),
              FIRST_CALL(cuCtxGetCurrent, &g_context),
              FIRST_CALL(cuCtxSetCurrent, nullptr),
              FIRST_CALL(cuCtxPopCurrent_v2, &g_context),
              FIRST_CALL(cuCtxSynchronize),
              FIRST_CALL(cuCtxGetLimit, &g_size, CU_LIMIT_STACK_SIZE),
              FIRST_CALL(cuMemAlloc_v2, &g_address, 16),
              FIRST_CALL(cuMemFree_v2, 0),
              FIRST_CALL(cuMemGetInfo_v2, &g_size, &g_size),
              FIRST_CALL(cuMemHostAlloc, &g_pointer, 16, 0),
              FIRST_CALL(cuMemFreeHost, nullptr),
              FIRST_CALL(cuMemcpy, 0, 0, 0),
              FIRST_CALL(cuMemsetD8_v2, 0, 0, 0),
              FIRST_CALL(cuMemGetAllocationGranularity, &g_size, &g_prop,
                         CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              FIRST_CALL(cuMemAddressReserve, &g_address, 2 * kMiB, 0, 0, 0),
              FIRST_CALL(cuMemCreate, &g_handle, 2 * kMiB, &g_prop, 0),
              FIRST_CALL(cuPointerGetAttribute, &g_int, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0),
              FIRST_CALL(cuIpcGetMemHandle, &g_ipc, 0),
              FIRST_CALL(cuStreamCreate, &g_stream, 0),
              FIRST_CALL(cuStreamSynchronize, nullptr),
              FIRST_CALL(cuStreamQuery, nullptr),
              FIRST_CALL(cuEventCreate, &g_event, 0),
              FIRST_CALL(cuGraphCreate, &g_graph, 0),
              FIRST_CALL(cuModuleLoadData, &g_module, ptx()),
              FIRST_CALL(cuLibraryLoadData, &g_library, ptx(), nullptr, nullptr, 0, nullptr,
                         nullptr, 0),
              FIRST_CALL(cuLaunchKernel, nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
          }};
}

}  // namespace nvs::conformance
