// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

bool is_current(Run& run, CUcontext context) {
  CUcontext current = nullptr;
  run.driver().cuCtxGetCurrent(&current);
  return current == context;
}

void create(Run& run) {
  CUcontext context = nullptr;
  CALL("flags 0", cuCtxCreate_v4, &context, nullptr, 0, 0);
  run.show("created context is current", is_current(run, context) && context != nullptr);
  unsigned flags = 77;
  CALL("", cuCtxGetFlags, &flags);
  run.show("flags", flags);
  CALL("", cuCtxDestroy_v2, context);
  run.show("nothing is current after it", is_current(run, nullptr));
  CALL("null", cuCtxCreate_v4, nullptr, nullptr, 0, 0);
  CALL("device -1", cuCtxCreate_v4, &context, nullptr, 0, -1);
  CALL("device 99", cuCtxCreate_v4, &context, nullptr, 0, 99);
  CALL("v2, flags 0", cuCtxCreate_v2, &context, 0, 0);
  CALL("of v2", cuCtxDestroy_v2, context);
  CALL("v3, flags 0", cuCtxCreate_v3, &context, nullptr, 0, 0, 0);
  CALL("of v3", cuCtxDestroy_v2, context);
}

void create_flags(Run& run) {
  for (const unsigned flags : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 0x10U, 0x1cU, 0x20U, 0x40U, 0x80U,
                               0x100U, 0x200U, 0x1000U, 0x80000000U}) {
    CUcontext context = nullptr;
    if (CALL(cat("flags ", flags), cuCtxCreate_v4, &context, nullptr, flags, 0) != CUDA_SUCCESS)
      continue;
    unsigned got = 77;
    CALL(cat("created with ", flags), cuCtxGetFlags, &got);
    run.show(cat("flags of ", flags), got);
    SETUP(cuCtxDestroy_v2, context);
  }
}

void stack(Run& run) {
  const CUcontext first = new_context(run);
  const CUcontext second = new_context(run);
  CUcontext popped = nullptr;
  run.show("second is current", is_current(run, second));
  CALL("", cuCtxPopCurrent_v2, &popped);
  run.show("popped the second", popped == second);
  run.show("first is current", is_current(run, first));
  CALL("first again", cuCtxPushCurrent_v2, first);
  CALL("null", cuCtxPushCurrent_v2, nullptr);
  CALL("null result", cuCtxPopCurrent_v2, nullptr);
  run.show("first is still current", is_current(run, first));
  CALL("last", cuCtxPopCurrent_v2, &popped);
  run.show("popped the first", popped == first);
  run.show("nothing is current", is_current(run, nullptr));
  CALL("empty stack", cuCtxPopCurrent_v2, &popped);
  CALL("second", cuCtxPushCurrent_v2, second);
  CALL("null", cuCtxSetCurrent, nullptr);
  run.show("nothing is current after null", is_current(run, nullptr));
  CALL("empty stack again", cuCtxPopCurrent_v2, &popped);
  CALL("first", cuCtxSetCurrent, first);
  CALL("second over first", cuCtxSetCurrent, second);
  CALL("one entry", cuCtxPopCurrent_v2, &popped);
  run.show("the one entry was the second", popped == second);
  run.show("nothing below it", is_current(run, nullptr));
  SETUP(cuCtxDestroy_v2, first);
  SETUP(cuCtxDestroy_v2, second);
}

void destroy_in_stack(Run& run) {
  const CUcontext below = new_context(run);
  const CUcontext above = new_context(run);
  CALL("below the top", cuCtxDestroy_v2, below);
  run.show("top is still current", is_current(run, above));
  CUdeviceptr address = 0;
  CALL("in the top", cuMemAlloc_v2, &address, 16);
  CUcontext popped = nullptr;
  CALL("the top", cuCtxPopCurrent_v2, &popped);
  CUcontext current = nullptr;
  CALL("with a destroyed one on top", cuCtxGetCurrent, &current);
  CALL("with a destroyed one on top", cuMemAlloc_v2, &address, 16);
  CALL("the destroyed one", cuCtxPopCurrent_v2, &popped);
  SETUP(cuCtxDestroy_v2, above);
}

void destroy_elsewhere(Run& run) {
  CALL("null", cuCtxDestroy_v2, nullptr);
  const CUcontext context = new_context(run);
  CUcontext popped = nullptr;
  SETUP(cuCtxPopCurrent_v2, &popped);
  CALL("not current", cuCtxDestroy_v2, context);
}

void destroyed_queries(Run& run) {
  const CUcontext context = new_context(run);
  SETUP(cuCtxDestroy_v2, context);
  unsigned version = 0;
  CALL("destroyed", cuCtxGetApiVersion, context, &version);
  unsigned long long id = 0;
  CALL("destroyed", cuCtxGetId, context, &id);
}

void freed_with_context(Run& run) {
  const CUcontext first = new_context(run);
  const CUdeviceptr address = allocate(run, kMiB);
  CUstream stream = new_stream(run);
  const CUcontext second = new_context(run);
  CALL("memory of another context", cuMemFree_v2, address);
  CALL("freed from another context", cuMemFree_v2, address);
  SETUP(cuCtxSetCurrent, first);
  const CUdeviceptr other = allocate(run, kMiB);
  SETUP(cuCtxSetCurrent, second);
  CALL("other context's memory", cuMemsetD8_v2, other, 1, kMiB);
  SETUP(cuCtxSynchronize);  // it may still run, and nothing orders the other stream after it
  CALL("other context's stream", cuStreamSynchronize, stream);
  CALL("other context's stream", cuMemsetD8Async, other, 1, kMiB, stream);
  SETUP(cuStreamSynchronize, stream);
  SETUP(cuCtxSynchronize);
  CALL("with its memory", cuCtxDestroy_v2, first);
  CALL("destroyed context's memory", cuMemFree_v2, other);
  CALL("destroyed context's memory", cuMemsetD8_v2, other, 1, kMiB);
  SETUP(cuCtxDestroy_v2, second);
}

void queries(Run& run) {
  const CUcontext context = new_context(run);
  unsigned version = 0;
  CALL("", cuCtxGetApiVersion, context, &version);
  run.show("version", version);
  CALL("null context", cuCtxGetApiVersion, nullptr, &version);
  CALL("null result", cuCtxGetApiVersion, context, nullptr);
  unsigned long long id = 0;
  unsigned long long id_of_current = 1;
  CALL("", cuCtxGetId, context, &id);
  CALL("null context", cuCtxGetId, nullptr, &id_of_current);
  run.show("null means current", id == id_of_current);
  CALL("null result", cuCtxGetId, context, nullptr);
  CUdevice device = -7;
  CALL("", cuCtxGetDevice, &device);
  run.show("device", device);
  CALL("null", cuCtxGetDevice, nullptr);
  CALL("", cuCtxGetDevice_v2, &device, context);
  CALL("null context", cuCtxGetDevice_v2, &device, nullptr);
  CALL("", cuCtxSynchronize_v2, context);
  CALL("null context", cuCtxSynchronize_v2, nullptr);
  int least = 77;
  int greatest = 77;
  CALL("", cuCtxGetStreamPriorityRange, &least, &greatest);
  run.show("priorities", cat(least, " to ", greatest));
  CALL("null", cuCtxGetStreamPriorityRange, nullptr, nullptr);
  CALL("null", cuCtxGetFlags, nullptr);
  CALL("null", cuCtxGetCurrent, nullptr);
  CALL("", cuCtxResetPersistingL2Cache);
  CALL("", cuCtxSynchronize);
  SETUP(cuCtxDestroy_v2, context);
}

void set_flags(Run& run) {
  const CUcontext context = new_context(run);
  for (const unsigned flags : {0U, 1U, 4U, 8U, 0x10U, 0x80U, 0x1000U}) {
    CALL(cat("flags ", flags), cuCtxSetFlags, flags);
    unsigned got = 77;
    CALL(cat("after ", flags), cuCtxGetFlags, &got);
    run.show(cat("flags after ", flags), got);
  }
  SETUP(cuCtxDestroy_v2, context);
}

void attach(Run& run) {
  CUcontext context = new_context(run);
  CUcontext attached = nullptr;
  CALL("flags 0", cuCtxAttach, &attached, 0);
  run.show("attached the current one", attached == context);
  CALL("flags 1", cuCtxAttach, &attached, 1);
  CALL("first", cuCtxDetach, context);
  run.show("still current", is_current(run, context));
  CALL("last", cuCtxDetach, context);
  run.show("gone", is_current(run, nullptr));
}

}  // namespace

Section context_section() {
  return {"context",
          Start::kInit,
          {
              {"create", create},
              {"create_flags", create_flags},
              {"stack", stack},
              {"queries", queries},
              {"set_flags", set_flags},
              {"freed_with_context", freed_with_context, Process::kOwn},
              {"destroy_in_stack", destroy_in_stack, Process::kOwn},
              {"destroy_elsewhere", destroy_elsewhere, Process::kOwn},
              {"destroyed_queries", destroyed_queries, Process::kOwn},
              {"attach", attach, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
