// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <unistd.h>

#include "tests/conformance/runner.h"
#include "tests/conformance/sections.h"
#include "tests/conformance/vmm.h"

namespace nvs::conformance {
namespace {

// Far from anything that is ever mapped.
constexpr CUdeviceptr kNowhere = CUdeviceptr{0x10} << 32;

struct Poisoned {
  Kernels kernels;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
};

// A context that knows of its illegal access.
Poisoned poison(Run& run, CUdeviceptr where) {
  Poisoned p;
  p.kernels = load_kernels(run);
  p.stream = new_stream(run);
  p.event = new_event(run);
  p.address = allocate(run, kMiB);
  run.show("launch of the bad fill", launch_fill(run, p.kernels.fill, where, 1, 16, p.stream));
  CALL("the bad fill", cuStreamSynchronize, p.stream);
  return p;
}

void later_calls(Run& run) {
  const Poisoned p = poison(run, kNowhere);
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  void* pinned = nullptr;
  char text[16] = {};
  CALL("poisoned", cuCtxSynchronize);
  CALL("poisoned", cuStreamQuery, p.stream);
  CALL("poisoned, null stream", cuStreamSynchronize, nullptr);
  CALL("poisoned", cuMemAlloc_v2, &address, 16);
  CALL("poisoned", cuMemFree_v2, p.address);
  CALL("poisoned", cuMemGetInfo_v2, &size, &size);
  CALL("poisoned", cuMemHostAlloc, &pinned, 4096, 0);
  CALL("poisoned", cuMemcpyHtoD_v2, p.address, text, 16);
  CALL("poisoned", cuMemsetD8_v2, p.address, 1, 16);
  CALL("poisoned", cuMemsetD8Async, p.address, 1, 16, p.stream);
  run.show("fill when poisoned", launch_fill(run, p.kernels.fill, p.address, 1, 16, p.stream));
  CALL("poisoned", cuStreamCreate, &stream, 0);
  CALL("poisoned", cuEventCreate, &event, 0);
  CALL("poisoned", cuEventRecord, p.event, p.stream);
  CALL("poisoned", cuEventQuery, p.event);
  CALL("poisoned", cuEventSynchronize, p.event);
  CALL("poisoned", cuModuleLoadData, &module, ptx());
  CALL(
      "poisoned", cuLaunchHostFunc, p.stream, [](void*) {}, nullptr);
  CALL("poisoned", cuMemGetAddressRange_v2, &address, &size, p.address);
  CALL("poisoned", cuPointerGetAttribute, &address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p.address);
  CALL("poisoned", cuMemHostRegister_v2, text, 16, 0);
  CALL("poisoned", cuCtxGetLimit, &size, CU_LIMIT_STACK_SIZE);
  CALL("poisoned", cuCtxGetCurrent, &context);
  CALL("poisoned", cuCtxGetDevice, &device);
  CALL("poisoned", cuDeviceGetCount, &device);
  CALL("poisoned", cuStreamDestroy_v2, p.stream);
  CALL("poisoned", cuEventDestroy_v2, p.event);
  CALL("poisoned", cuModuleUnload, p.kernels.module);
}

void vmm(Run& run) {
  const CUdeviceptr mapped = map_new(run, create_handle(run, kGranule), kGranule);
  poison(run, kNowhere);
  const CUmemAllocationProp prop = device_prop();
  const CUmemAccessDesc access = read_write();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  CALL("poisoned", cuMemCreate, &handle, kGranule, &prop, 0);
  CALL("poisoned", cuMemAddressReserve, &address, kGranule, 0, 0, 0);
  CALL("poisoned", cuMemMap, address, kGranule, 0, handle, 0);
  CALL("poisoned", cuMemSetAccess, address, kGranule, &access, 1);
  CALL("poisoned", cuMemUnmap, mapped, kGranule);
  CALL("poisoned", cuMemAddressFree, mapped, kGranule);
}

void graphs(Run& run) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  SETUP(cuGraphCreate, &graph, 0);
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  const Poisoned p = poison(run, kNowhere);
  CUgraphNode node = nullptr;
  CALL("poisoned", cuGraphCreate, &graph, 0);
  CALL("poisoned", cuGraphAddEmptyNode, &node, graph, nullptr, 0);
  CALL("poisoned", cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("poisoned", cuGraphLaunch, exec, p.stream);
  CALL("poisoned", cuStreamBeginCapture_v2, p.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("poisoned", cuStreamEndCapture, p.stream, &graph);
}

void reset(Run& run) {
  poison(run, kNowhere);
  CUdeviceptr address = 0;
  CALL("poisoned", cuDevicePrimaryCtxReset_v2, 0);
  CALL("after the reset", cuMemAlloc_v2, &address, 16);
  CUcontext context = nullptr;
  CALL("after the reset", cuDevicePrimaryCtxRetain, &context, 0);
  CALL("after the reset", cuCtxSetCurrent, context);
  CALL("retained after the reset", cuMemAlloc_v2, &address, 16);
  CALL("retained after the reset", cuCtxSynchronize);
}

void destroy(Run& run) {
  const CUcontext bystander = current_context(run);
  const CUcontext context = new_context(run);
  poison(run, kNowhere);
  CALL("poisoned", cuCtxDestroy_v2, context);
  CALL("bystander", cuCtxSetCurrent, bystander);
  CUdeviceptr address = 0;
  CALL("bystander", cuMemAlloc_v2, &address, 4096);
  CALL("bystander", cuCtxSynchronize);
  CUcontext fresh = nullptr;
  CALL("after a fault", cuCtxCreate_v4, &fresh, nullptr, 0, 0);
  CALL("in a fresh context", cuMemAlloc_v2, &address, 4096);
}

void bystander(Run& run) {
  const CUcontext here = current_context(run);
  const CUcontext context = new_context(run);
  poison(run, kNowhere);
  CALL("other context", cuCtxSetCurrent, here);
  CUdeviceptr address = 0;
  CALL("other context", cuMemAlloc_v2, &address, 4096);
  CALL("other context", cuCtxSynchronize);
  CALL("the poisoned context", cuCtxSetCurrent, context);
  CALL("the poisoned context", cuCtxSynchronize);
}

void kinds(Run& run, const char* what, CUdeviceptr where) {
  run.show("place", what);
  poison(run, where);
  CALL("after it", cuCtxSynchronize);
}

void freed(Run& run) {
  const CUdeviceptr address = allocate(run, 64 * kMiB);
  SETUP(cuMemFree_v2, address);
  kinds(run, "freed memory", address);
}

void unmapped(Run& run) {
  const CUdeviceptr address = map_new(run, create_handle(run, kGranule), kGranule);
  SETUP(cuMemUnmap, address, kGranule);
  kinds(run, "unmapped memory", address);
}

void without_access(Run& run) {
  const CUdeviceptr address = reserve_range(run, kGranule);
  SETUP(cuMemMap, address, kGranule, 0, create_handle(run, kGranule), 0);
  kinds(run, "mapped memory without access", address);
}

void misaligned(Run& run) { kinds(run, "misaligned address", allocate(run, kMiB) + 1); }

void null_address(Run& run) { kinds(run, "null", 0); }

Run* g_run = nullptr;

void exit_calls(const char* when) {
  Run& run = *g_run;
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  int count = 0;
  CALL(when, cuCtxGetCurrent, &context);
  CALL(when, cuMemAlloc_v2, &address, 16);
  CALL(when, cuCtxSynchronize);
  CALL(when, cuDeviceGetCount, &count);
  CALL(when, cuInit, 0);
}

void exit_handlers(Run& run) {
  g_run = &run;
  at_late_exit([] { exit_calls("in a handler from before the driver"); });
  std::atexit([] { exit_calls("in a handler from after the driver"); });
}

// Work in flight at the end of a process is no reason not to end.
void exit_with_work(Run& run) {
  const Kernels kernels = load_kernels(run);
  run.show("spin", launch_spin(run, kernels.spin, 200'000'000, new_stream(run)));
}

void exit_abruptly(Run& run) {
  const Kernels kernels = load_kernels(run);
  run.show("spin", launch_spin(run, kernels.spin, 200'000'000, new_stream(run)));
  ::_exit(0);
}

}  // namespace

Section sticky_section() {
  return {"sticky",
          Start::kContext,
          {
              {"later_calls", later_calls, Process::kOwn},
              {"vmm", vmm, Process::kOwn},
              {"graphs", graphs, Process::kOwn},
              {"reset", reset, Process::kOwn},
              {"destroy", destroy, Process::kOwn},
              {"bystander", bystander, Process::kOwn},
              {"freed", freed, Process::kOwn},
              {"unmapped", unmapped, Process::kOwn},
              {"without_access", without_access, Process::kOwn},
              {"misaligned", misaligned, Process::kOwn},
              {"null_address", null_address, Process::kOwn},
              {"exit_handlers", exit_handlers, Process::kOwn},
              {"exit_with_work", exit_with_work, Process::kOwn},
              {"exit_abruptly", exit_abruptly, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
