// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/conformance/runner.h"
#include "tests/conformance/sections.h"
#include "tests/conformance/vmm.h"

namespace nvs::conformance {
namespace {

constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

// A handle travels to another process as text.
template <class Handle>
std::string to_text(const Handle& handle) {
  std::string text;
  for (const char byte : handle.reserved)
    text += static_cast<char>('a' + ((byte >> 4) & 15)),
        text += static_cast<char>('a' + (byte & 15));
  return text;
}

template <class Handle>
Handle from_text(const std::string& text) {
  Handle handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved && 2 * i + 1 < text.size(); ++i)
    handle.reserved[i] = static_cast<char>(((text[2 * i] - 'a') << 4) | (text[2 * i + 1] - 'a'));
  return handle;
}

void get(Run& run) {
  const CUdeviceptr address = allocate(run, 4 * kMiB);
  CUipcMemHandle handle{};
  CUipcMemHandle again{};
  CALL("", cuIpcGetMemHandle, &handle, address);
  CALL("again", cuIpcGetMemHandle, &again, address);
  run.show("same handle twice", std::memcmp(&handle, &again, sizeof handle) == 0);
  CALL("interior", cuIpcGetMemHandle, &again, address + 4096);
  run.show("interior gives the same handle", std::memcmp(&handle, &again, sizeof handle) == 0);
  CALL("interior by 2 MiB", cuIpcGetMemHandle, &again, address + 2 * kMiB);
  CALL("null handle", cuIpcGetMemHandle, nullptr, address);
  CALL("null address", cuIpcGetMemHandle, &handle, 0);
  CALL("no such address", cuIpcGetMemHandle, &handle, 4096);
  CALL("small memory", cuIpcGetMemHandle, &handle, allocate(run, 100));
  void* pinned = nullptr;
  SETUP(cuMemHostAlloc, &pinned, 4096, 0);
  CALL("host memory", cuIpcGetMemHandle, &handle, address_of(pinned));
  SETUP(cuMemFree_v2, address);
  CALL("freed", cuIpcGetMemHandle, &handle, address);
  const CUdeviceptr mapped = map_new(run, create_handle(run, kGranule), kGranule);
  CALL("mapped memory", cuIpcGetMemHandle, &handle, mapped);
}

void open_here(Run& run) {
  const CUdeviceptr address = allocate(run, 4 * kMiB);
  CUipcMemHandle handle{};
  SETUP(cuIpcGetMemHandle, &handle, address);
  CUdeviceptr opened = 0;
  CALL("in the same process", cuIpcOpenMemHandle_v2, &opened, handle, kLazy);
  CALL("flags 0", cuIpcOpenMemHandle_v2, &opened, handle, 0);
  CALL("null result", cuIpcOpenMemHandle_v2, nullptr, handle, kLazy);
  CALL("old form", cuIpcOpenMemHandle, &opened, handle, kLazy);
  CUipcMemHandle zero{};
  CALL("no handle", cuIpcOpenMemHandle_v2, &opened, zero, kLazy);
  CALL("not opened", cuIpcCloseMemHandle, address);
  CALL("null", cuIpcCloseMemHandle, 0);
}

void memory(Run& run) {
  const CUdeviceptr address = allocate(run, 4 * kMiB);
  SETUP(cuMemsetD8_v2, address, 0x31, 4 * kMiB);
  SETUP(cuCtxSynchronize);
  CUipcMemHandle handle{};
  SETUP(cuIpcGetMemHandle, &handle, address);
  run_hidden_step(run, "ipc", "memory_child", to_text(handle));
  run.show("what the child wrote", all_bytes(run, address, 4 * kMiB, 0x52));
  const CUdeviceptr small = allocate(run, 1000);
  const CUdeviceptr neighbour = allocate(run, 1000);
  SETUP(cuMemsetD8_v2, small, 0x31, 1000);
  SETUP(cuMemsetD8_v2, neighbour, 0x11, 1000);
  SETUP(cuCtxSynchronize);
  SETUP(cuIpcGetMemHandle, &handle, small);
  run_hidden_step(run, "ipc", "small_child", to_text(handle));
  SETUP(cuIpcGetMemHandle, &handle, address + 2 * kMiB);
  run_hidden_step(run, "ipc", "interior_child", to_text(handle));
}

void memory_child(Run& run) {
  const auto handle = from_text<CUipcMemHandle>(run.argument());
  CUdeviceptr address = 0;
  CALL("flags 0", cuIpcOpenMemHandle_v2, &address, handle, 0);
  CALL("flags 77", cuIpcOpenMemHandle_v2, &address, handle, 77);
  CALL("lazy", cuIpcOpenMemHandle_v2, &address, handle, kLazy);
  run.show("what the parent wrote", all_bytes(run, address, 4 * kMiB, 0x31));
  CUdeviceptr again = 0;
  CALL("twice", cuIpcOpenMemHandle_v2, &again, handle, kLazy);
  run.show("same address twice", again == address);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CALL("opened", cuMemGetAddressRange_v2, &base, &size, address + 5);
  run.show("range", cat(relative(base, address), ", size ", size));
  unsigned capable = 77;
  CALL("legacy IPC capable", cuPointerGetAttribute, &capable,
       CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address);
  CUipcMemHandle onward{};
  CALL("of opened memory", cuIpcGetMemHandle, &onward, address);
  CALL("opened memory", cuMemFree_v2, address);
  CALL("", cuMemsetD8_v2, address, 0x52, 4 * kMiB);
  CALL("", cuCtxSynchronize);
  CALL("interior", cuIpcCloseMemHandle, address + 4096);
  CALL("first", cuIpcCloseMemHandle, address);
  CALL("closed once", cuMemsetD8_v2, address, 0x52, 16);
  CALL("second", cuIpcCloseMemHandle, address);
  CALL("third", cuIpcCloseMemHandle, address);
  CALL("closed", cuMemsetD8_v2, address, 0x52, 16);
}

void small_child(Run& run) {
  CUdeviceptr address = 0;
  CALL("small", cuIpcOpenMemHandle_v2, &address, from_text<CUipcMemHandle>(run.argument()), kLazy);
  run.show("what the parent wrote", all_bytes(run, address, 1000, 0x31));
  CALL("small", cuIpcCloseMemHandle, address);
}

void interior_child(Run& run) {
  CUdeviceptr address = 0;
  CALL("interior", cuIpcOpenMemHandle_v2, &address, from_text<CUipcMemHandle>(run.argument()),
       kLazy);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CALL("interior", cuMemGetAddressRange_v2, &base, &size, address);
  run.show("range", cat(relative(base, address), ", size ", size));
}

void event(Run& run) {
  CUevent plain = new_event(run);
  CUevent shared = nullptr;
  CUipcEventHandle handle{};
  CALL("plain event", cuIpcGetEventHandle, &handle, plain);
  CALL("interprocess with timing", cuEventCreate, &shared, CU_EVENT_INTERPROCESS);
  CALL("interprocess", cuEventCreate, &shared, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  CALL("", cuIpcGetEventHandle, &handle, shared);
  CALL("null handle", cuIpcGetEventHandle, nullptr, shared);
  CALL("null event", cuIpcGetEventHandle, &handle, nullptr);
  CUevent opened = nullptr;
  CALL("in the same process", cuIpcOpenEventHandle, &opened, handle);
  CUipcEventHandle zero{};
  CALL("no handle", cuIpcOpenEventHandle, &opened, zero);
  SETUP(cuEventRecord, shared, nullptr);
  SETUP(cuCtxSynchronize);
  run_hidden_step(run, "ipc", "event_child", to_text(handle));
  CALL("after the child", cuEventQuery, shared);
}

void event_child(Run& run) {
  CUevent event = nullptr;
  CALL("in a child", cuIpcOpenEventHandle, &event, from_text<CUipcEventHandle>(run.argument()));
  CALL("in a child", cuEventQuery, event);
  CALL("in a child", cuEventSynchronize, event);
  CALL("in a child", cuEventRecord, event, nullptr);
  CALL("in a child", cuStreamWaitEvent, nullptr, event, 0);
  CALL("in a child", cuCtxSynchronize);
  CALL("in a child", cuEventDestroy_v2, event);
}

}  // namespace

Section ipc_section() {
  return {"ipc",
          Start::kContext,
          {
              {"get", get},
              {"open_here", open_here},
              {"memory", memory, Process::kOwn},
              {"event", event, Process::kOwn},
              {"memory_child", memory_child, Process::kHidden},
              {"small_child", small_child, Process::kHidden},
              {"interior_child", interior_child, Process::kHidden},
              {"event_child", event_child, Process::kHidden},
          }};
}

}  // namespace nvs::conformance
