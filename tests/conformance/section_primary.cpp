// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void state(Run& run, const char* when) {
  unsigned flags = 77;
  int active = 77;
  CALL(when, cuDevicePrimaryCtxGetState, 0, &flags, &active);
  run.show(cat("state ", when), cat("flags ", flags, ", active ", active));
}

void retain_release(Run& run) {
  state(run, "at first");
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CALL("first", cuDevicePrimaryCtxRetain, &first, 0);
  CUcontext current = first;
  CALL("after retain", cuCtxGetCurrent, &current);
  run.show("retain makes it current", current != nullptr);
  CALL("second", cuDevicePrimaryCtxRetain, &second, 0);
  run.show("same context", first == second);
  state(run, "retained");
  CALL("the primary one", cuCtxDestroy_v2, first);
  CALL("first", cuDevicePrimaryCtxRelease_v2, 0);
  state(run, "released once");
  CALL("second", cuDevicePrimaryCtxRelease_v2, 0);
  state(run, "released twice");
  CALL("one too many", cuDevicePrimaryCtxRelease_v2, 0);
  CALL("released", cuCtxSetCurrent, first);
  CALL("after reuse", cuCtxGetCurrent, &current);
  CUdeviceptr address = 0;
  CALL("released context current", cuMemAlloc_v2, &address, 16);
  CALL("again", cuDevicePrimaryCtxRetain, &second, 0);
  run.show("same context again", first == second);
  CALL("revived", cuMemAlloc_v2, &address, 16);
}

void bad_arguments(Run& run) {
  CUcontext context = nullptr;
  unsigned flags = 0;
  int active = 0;
  CALL("null", cuDevicePrimaryCtxRetain, nullptr, 0);
  CALL("device -1", cuDevicePrimaryCtxRetain, &context, -1);
  CALL("device 99", cuDevicePrimaryCtxRetain, &context, 99);
  CALL("device 99", cuDevicePrimaryCtxRelease_v2, 99);
  CALL("never retained", cuDevicePrimaryCtxRelease_v2, 0);
  CALL("device 99", cuDevicePrimaryCtxReset_v2, 99);
  CALL("never retained", cuDevicePrimaryCtxReset_v2, 0);
  CALL("device 99", cuDevicePrimaryCtxGetState, 99, &flags, &active);
  CALL("null flags", cuDevicePrimaryCtxGetState, 0, nullptr, &active);
  CALL("null active", cuDevicePrimaryCtxGetState, 0, &flags, nullptr);
  CALL("device 99", cuDevicePrimaryCtxSetFlags_v2, 99, 0);
}

void set_flags(Run& run) {
  for (const unsigned flags : {1U, 3U, 4U, 8U, 0x10U, 0x20U, 0x80U, 0x1000U}) {
    CALL(cat("flags ", flags), cuDevicePrimaryCtxSetFlags_v2, 0, flags);
    state(run, cat("after flags ", flags).c_str());
  }
  CALL("flags 4", cuDevicePrimaryCtxSetFlags_v2, 0, 4);
  CUcontext context = nullptr;
  CALL("with flags 4", cuDevicePrimaryCtxRetain, &context, 0);
  SETUP(cuCtxSetCurrent, context);
  unsigned flags = 77;
  CALL("primary", cuCtxGetFlags, &flags);
  run.show("flags of the context", flags);
  CALL("flags 1 while active", cuDevicePrimaryCtxSetFlags_v2, 0, 1);
  state(run, "set while active");
  CALL("after set while active", cuCtxGetFlags, &flags);
  run.show("flags of the active context", flags);
  CALL("", cuDevicePrimaryCtxRelease_v2, 0);
  state(run, "after release");
}

void reset(Run& run) {
  CUcontext context = nullptr;
  SETUP(cuDevicePrimaryCtxRetain, &context, 0);
  SETUP(cuCtxSetCurrent, context);
  const CUdeviceptr address = allocate(run, kMiB);
  CALL("retained and current", cuDevicePrimaryCtxReset_v2, 0);
  state(run, "after reset");
  CUcontext current = nullptr;
  CALL("after reset", cuCtxGetCurrent, &current);
  run.show("still the same current context", current == context);
  CUdeviceptr other = 0;
  CALL("after reset", cuMemAlloc_v2, &other, 16);
  CALL("memory from before the reset", cuMemFree_v2, address);
  CALL("after reset", cuCtxSynchronize);
  CUdevice device = -7;
  CALL("after reset", cuCtxGetDevice, &device);
  unsigned flags = 77;
  CALL("after reset", cuCtxGetFlags, &flags);
  CUcontext again = nullptr;
  CALL("after reset", cuDevicePrimaryCtxRetain, &again, 0);
  run.show("same context", again == context);
  CALL("memory from before the reset, retained again", cuMemFree_v2, address);
  CALL("after retain", cuMemAlloc_v2, &other, 16);
  state(run, "retained again");
  CALL("first", cuDevicePrimaryCtxRelease_v2, 0);
  state(run, "released once");
  CALL("second", cuDevicePrimaryCtxRelease_v2, 0);
  state(run, "released twice");
}

void released_use(Run& run) {
  CUcontext context = nullptr;
  SETUP(cuDevicePrimaryCtxRetain, &context, 0);
  SETUP(cuCtxSetCurrent, context);
  const CUdeviceptr address = allocate(run, kMiB);
  SETUP(cuDevicePrimaryCtxRelease_v2, 0);
  CUcontext current = nullptr;
  CALL("released", cuCtxGetCurrent, &current);
  run.show("still the same current context", current == context);
  CALL("released", cuMemFree_v2, address);
  CALL("released", cuCtxSynchronize);
  CUstream stream = nullptr;
  CALL("released", cuStreamCreate, &stream, 0);
  CUmodule module = nullptr;
  CALL("released", cuModuleLoadData, &module, ptx());
  std::size_t value = 0;
  CALL("released", cuMemGetInfo_v2, &value, &value);
  CALL("released", cuCtxGetLimit, &value, CU_LIMIT_STACK_SIZE);
  CUdevice device = -7;
  CALL("released", cuCtxGetDevice, &device);
  CALL("released", cuCtxPopCurrent_v2, &current);
  CALL("released", cuCtxPushCurrent_v2, context);
}

}  // namespace

Section primary_section() {
  return {"primary",
          Start::kInit,
          {
              {"bad_arguments", bad_arguments, Process::kOwn},
              {"retain_release", retain_release, Process::kOwn},
              {"set_flags", set_flags, Process::kOwn},
              {"reset", reset, Process::kOwn},
              {"released_use", released_use, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
