// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "tests/conformance/runner.h"
#include "tests/conformance/sections.h"
#include "tests/conformance/vmm.h"

namespace nvs::conformance {
namespace {

void several_handles(Run& run) {
  const CUdeviceptr address = reserve_range(run, 4 * kGranule);
  const CUmemAccessDesc desc = read_write();
  SETUP(cuMemMap, address, kGranule, 0, create_handle(run, kGranule), 0);
  SETUP(cuMemMap, address + kGranule, 2 * kGranule, 0, create_handle(run, 2 * kGranule), 0);
  SETUP(cuMemSetAccess, address, 3 * kGranule, &desc, 1);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CALL("first handle", cuMemGetAddressRange_v2, &base, &size, address + 5);
  run.show("first handle's range", cat(relative(base, address), ", size ", size));
  CALL("second handle", cuMemGetAddressRange_v2, &base, &size, address + 2 * kGranule);
  run.show("second handle's range", cat(relative(base, address), ", size ", size));
  CALL("unmapped rest", cuMemGetAddressRange_v2, &base, &size, address + 3 * kGranule);
  CALL("across handles", cuMemsetD8_v2, address, 5, 3 * kGranule);
  run.show("all bytes set", all_bytes(run, address, 3 * kGranule, 5));
  CALL("across handles", cuMemcpyDtoD_v2, address, address + kGranule + kMiB, kGranule + kMiB / 2);
  CALL("into the unmapped rest", cuMemsetD8_v2, address, 5, 4 * kGranule);
  CALL("mapped memory", cuMemFree_v2, address);
  CALL("mapped memory", cuMemFreeHost, pointer_of(address));
}

void no_access(Run& run) {
  char text[16] = {};
  const CUdeviceptr address = reserve_range(run, 2 * kGranule);
  CALL("reserved only", cuMemcpyHtoD_v2, address, text, 16);
  CALL("reserved only", cuMemsetD8_v2, address, 1, 16);
  CALL("reserved only", cuMemGetAddressRange_v2, nullptr, nullptr, address);
  CALL("reserved only", cuMemFree_v2, address);
  SETUP(cuMemMap, address, kGranule, 0, create_handle(run, kGranule), 0);
  CALL("without access", cuMemcpyHtoD_v2, address, text, 16);
  CALL("without access", cuMemcpyDtoH_v2, text, address, 16);
  CALL("without access", cuMemcpyDtoD_v2, address, allocate(run, 16), 16);
  CALL("without access", cuMemsetD8_v2, address, 1, 16);
  CALL("after all", cuCtxSynchronize);
}

// Data lives in the handle, not at the address.
void remap(Run& run) {
  const CUmemGenericAllocationHandle first = create_handle(run, kGranule);
  const CUmemGenericAllocationHandle second = create_handle(run, kGranule);
  const CUdeviceptr address = map_new(run, first, kGranule);
  SETUP(cuMemsetD8_v2, address, 1, kGranule);
  SETUP(cuCtxSynchronize);
  SETUP(cuMemUnmap, address, kGranule);
  CALL("second handle", cuMemMap, address, kGranule, 0, second, 0);
  const CUmemAccessDesc desc = read_write();
  unsigned long long flags = 77;
  CALL("mapped anew", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access after mapping anew", flags);
  CALL("mapped anew", cuMemSetAccess, address, kGranule, &desc, 1);
  SETUP(cuMemsetD8_v2, address, 2, kGranule);
  const CUdeviceptr alias = map_new(run, first, kGranule);
  run.show("first handle kept its data", all_bytes(run, alias, kGranule, 1));
  const CUdeviceptr second_alias = map_new(run, second, kGranule);
  SETUP(cuMemsetD8_v2, second_alias, 3, kGranule);
  run.show("aliases show the same data", all_bytes(run, address, kGranule, 3));
}

// Another context of the same device needs no grant of its own.
void other_context(Run& run) {
  const CUdeviceptr address = map_new(run, create_handle(run, kGranule), kGranule);
  const CUcontext other = new_context(run);
  CALL("from another context", cuMemsetD8_v2, address, 1, kGranule);
  run.show("set from another context", all_bytes(run, address, kGranule, 1));
  CALL("from another context", cuMemUnmap, address, kGranule);
  SETUP(cuCtxDestroy_v2, other);
  const CUcontext third = new_context(run);
  const CUdeviceptr kept = map_new(run, create_handle(run, kGranule), kGranule);
  CALL("that mapped", cuCtxDestroy_v2, third);
  CUcontext context = nullptr;
  SETUP(cuDevicePrimaryCtxRetain, &context, 0);
  SETUP(cuCtxSetCurrent, context);
  CALL("mapped in a destroyed context", cuMemsetD8_v2, kept, 1, kGranule);
  SETUP(cuCtxSynchronize);
  CALL("mapped in a destroyed context", cuMemUnmap, kept, kGranule);
}

CUmemGenericAllocationHandle create_exportable(Run& run) {
  CUmemAllocationProp prop = device_prop();
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  SETUP(cuMemCreate, &handle, kGranule, &prop, 0);
  return handle;
}

void share(Run& run) {
  constexpr auto kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int fd = -1;
  CALL("not exportable", cuMemExportToShareableHandle, &fd, create_handle(run, kGranule), kFd, 0);
  const CUmemGenericAllocationHandle handle = create_exportable(run);
  CALL("", cuMemExportToShareableHandle, &fd, handle, kFd, 0);
  run.show("descriptor is open", ::fcntl(fd, F_GETFD) >= 0);
  run.show("descriptor closes on exec", (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  int other = -1;
  CALL("flags 1", cuMemExportToShareableHandle, &other, handle, kFd, 1);
  CALL("other type", cuMemExportToShareableHandle, &other, handle, CU_MEM_HANDLE_TYPE_WIN32, 0);
  CALL("null", cuMemExportToShareableHandle, nullptr, handle, kFd, 0);
  CALL("handle 0", cuMemExportToShareableHandle, &other, 0, kFd, 0);
  CUmemGenericAllocationHandle imported = 0;
  const auto as_pointer = [](int number) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  };
  CALL("", cuMemImportFromShareableHandle, &imported, as_pointer(fd), kFd);
  CUmemAllocationProp prop{};
  CALL("imported", cuMemGetAllocationPropertiesFromHandle, &prop, imported);
  run.show("handle types of the imported", prop.requestedHandleTypes);
  const CUdeviceptr mine = map_new(run, handle, kGranule);
  const CUdeviceptr theirs = map_new(run, imported, kGranule);
  SETUP(cuMemsetD8_v2, mine, 9, kGranule);
  run.show("imported memory is the same", all_bytes(run, theirs, kGranule, 9));
  CALL("imported twice", cuMemImportFromShareableHandle, &imported, as_pointer(fd), kFd);
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CALL("descriptor of another file", cuMemImportFromShareableHandle, &imported, as_pointer(file),
       kFd);
  ::close(fd);
  CALL("closed descriptor", cuMemImportFromShareableHandle, &imported, as_pointer(fd), kFd);
  CALL("null", cuMemImportFromShareableHandle, nullptr, as_pointer(fd), kFd);
}

void share_across(Run& run) {
  const CUmemGenericAllocationHandle handle = create_exportable(run);
  const CUdeviceptr address = map_new(run, handle, kGranule);
  SETUP(cuMemsetD8_v2, address, 0x21, kGranule);
  SETUP(cuCtxSynchronize);
  int fd = -1;
  SETUP(cuMemExportToShareableHandle, &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  const int inheritable = ::dup(fd);
  run_hidden_step(run, "vmm_use", "share_child", cat(inheritable));
  run.show("what the child wrote", all_bytes(run, address, kGranule, 0x42));
}

void share_child(Run& run) {
  const int fd = std::stoi(run.argument());
  CUmemGenericAllocationHandle handle = 0;
  CALL("in a child", cuMemImportFromShareableHandle, &handle,
       reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const CUdeviceptr address = map_new(run, handle, kGranule);
  run.show("what the parent wrote", all_bytes(run, address, kGranule, 0x21));
  CALL("in a child", cuMemsetD8_v2, address, 0x42, kGranule);
  CALL("in a child", cuCtxSynchronize);
}

}  // namespace

Section vmm_use_section() {
  return {"vmm_use",
          Start::kContext,
          {
              {"several_handles", several_handles, Process::kOwn},
              {"no_access", no_access, Process::kOwn},
              {"remap", remap},
              {"other_context", other_context},
              {"share", share},
              {"share_across", share_across, Process::kOwn},
              {"share_child", share_child, Process::kHidden},
          }};
}

}  // namespace nvs::conformance
