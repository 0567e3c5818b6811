// SPDX-License-Identifier: Apache-2.0
// For tests of memory that a program creates and maps itself: a driver that knows what is mapped
// where.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/views.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory::view_hooks {

inline constexpr int kGpu = 5;  // one of its own: what a device can do is asked once
inline constexpr int kPeer = 7;
inline constexpr std::uint64_t kUnit = 2 * vmm::kMiB;
inline constexpr std::uint64_t kBytes = vmm::kChunkBytes + kUnit;  // of two chunks
inline constexpr std::uint64_t kFirst = std::uint64_t{1} << 40U;
inline constexpr std::uint64_t kSecond = std::uint64_t{2} << 40U;

using Access = std::map<int, unsigned>;
struct Mapped {
  std::uint64_t bytes;
  std::uint64_t handle;
  Access access;
  bool operator==(const Mapped&) const = default;
};

struct Pages {
  std::map<std::uint64_t, Mapped> mapped;
  std::set<std::uint64_t> handles;
  std::set<std::uint64_t> reserved;
  std::uint64_t last_handle = 100;
  std::uint64_t last_address = std::uint64_t{3} << 40U;
  int maps_left = -1;  // until the one that fails
  int copies = 0;
  std::function<void()> in_release;
};
inline Pages pages;

inline CUresult reserve(CUdeviceptr* out, size_t size, size_t, CUdeviceptr, unsigned long long) {
  pages.last_address += std::uint64_t{1} << 36U;
  *out = pages.last_address;
  pages.reserved.insert(*out);
  return size != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult give_up(CUdeviceptr address, size_t) {
  return pages.reserved.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult create(CUmemGenericAllocationHandle* out, size_t size,
                       const CUmemAllocationProp* prop, unsigned long long) {
  EXPECT_EQ(prop->requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(prop->allocFlags.gpuDirectRDMACapable, size > vmm::kChunkBytes) << "of what stays";
  *out = ++pages.last_handle;
  pages.handles.insert(*out);
  return CUDA_SUCCESS;
}
inline CUresult release(CUmemGenericAllocationHandle handle) {
  if (pages.in_release) pages.in_release();
  return pages.handles.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult map(CUdeviceptr address, size_t size, size_t, CUmemGenericAllocationHandle handle,
                    unsigned long long) {
  if (pages.maps_left >= 0 && pages.maps_left-- == 0) return CUDA_ERROR_UNKNOWN;
  if (!pages.mapped.try_emplace(address, Mapped{size, handle, {}}).second) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
inline CUresult unmap(CUdeviceptr address, size_t size) {
  auto at = pages.mapped.lower_bound(address);
  while (at != pages.mapped.end() && at->first < address + size) at = pages.mapped.erase(at);
  return CUDA_SUCCESS;
}
inline CUresult set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc* descs,
                           size_t count) {
  for (auto& [begin, one] : pages.mapped) {
    if (begin < address || begin >= address + size) continue;
    for (size_t i = 0; i < count; ++i) one.access[descs[i].location.id] = descs[i].flags;
  }
  return CUDA_SUCCESS;
}
inline CUresult attribute(int* out, CUdevice_attribute, CUdevice) {
  *out = 1;
  return CUDA_SUCCESS;
}
inline CUresult granularity(size_t* out, const CUmemAllocationProp*,
                            CUmemAllocationGranularity_flags) {
  *out = kUnit;
  return CUDA_SUCCESS;
}
inline CUresult no_pointer(void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_ERROR_INVALID_VALUE;
}
inline CUresult copy(CUdeviceptr, CUdeviceptr, size_t, CUstream) {
  ++pages.copies;
  return CUDA_SUCCESS;
}
inline bool broke_a_capture = false;
inline CUresult synchronise() {
  broke_a_capture = broke_a_capture || captures::is_any();
  return CUDA_SUCCESS;
}
inline CUresult make_stream(CUstream*, unsigned) { return CUDA_SUCCESS; }
inline CUresult nothing_of(CUstream) { return CUDA_SUCCESS; }
inline CUresult push(CUcontext) { return CUDA_SUCCESS; }
inline CUresult pop(CUcontext*) { return CUDA_SUCCESS; }
inline CUresult export_handle(void* out, CUmemGenericAllocationHandle handle,
                              CUmemAllocationHandleType, unsigned long long) {
  *static_cast<std::uint64_t*>(out) = handle;
  return CUDA_SUCCESS;
}

class ViewFixture : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    pages = {};
    set_real_for_test<Row::cuMemAddressReserve>(&reserve);
    set_real_for_test<Row::cuMemAddressFree>(&give_up);
    set_real_for_test<Row::cuMemCreate>(&create);
    set_real_for_test<Row::cuMemRelease>(&release);
    set_real_for_test<Row::cuMemMap>(&map);
    set_real_for_test<Row::cuMemUnmap>(&unmap);
    set_real_for_test<Row::cuMemSetAccess>(&set_access);
    set_real_for_test<Row::cuDeviceGetAttribute>(&attribute);
    set_real_for_test<Row::cuMemGetAllocationGranularity>(&granularity);
    set_real_for_test<Row::cuPointerGetAttribute>(&no_pointer);
    set_real_for_test<Row::cuMemcpyDtoDAsync_v2>(&copy);
    set_real_for_test<Row::cuStreamCreate>(&make_stream);
    set_real_for_test<Row::cuStreamSynchronize>(&nothing_of);
    set_real_for_test<Row::cuStreamDestroy_v2>(&nothing_of);
    set_real_for_test<Row::cuCtxSynchronize>(&synchronise);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    set_real_for_test<Row::cuMemExportToShareableHandle>(&export_handle);
    session::memory_start_over_in_child();
    session::memory_announces(kGpu);
    session::memory_known(kGpu, true);
    swap::rooms[kGpu].is_free = true;
    driver_.device = kGpu;
    contexts::created(driver_.current, kGpu);
  }
  void TearDown() override {
    session::memory_start_over_in_child();
    contexts::start_over_in_child();
    forget<Row::cuMemAddressReserve, Row::cuMemAddressFree, Row::cuMemSetAccess,
           Row::cuDeviceGetAttribute, Row::cuMemGetAllocationGranularity,
           Row::cuPointerGetAttribute, Row::cuMemcpyDtoDAsync_v2, Row::cuCtxSynchronize,
           Row::cuStreamCreate, Row::cuStreamSynchronize, Row::cuStreamDestroy_v2,
           Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2, Row::cuMemExportToShareableHandle>();
  }

  CUmemGenericAllocationHandle make(std::uint64_t size, CUresult expected = CUDA_SUCCESS) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, kGpu};
    prop.allocFlags.gpuDirectRDMACapable = 1;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(hooks::cuMemCreate(&handle, size, &prop, 0), expected);
    return handle;
  }
  static CUresult give_out(CUmemGenericAllocationHandle token, std::uint64_t& exported) {
    return hooks::cuMemExportToShareableHandle(&exported, token,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  }
  static CUresult allow(std::uint64_t address, int device) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return hooks::cuMemSetAccess(address, kBytes, &access, 1);
  }
  // Where the pages of the second chunk are mapped for us.
  static std::uint64_t home_of_second() { return swap::regions.next(0)->base() + vmm::kChunkBytes; }
  static std::uint64_t handle_at(std::uint64_t address) {
    const auto at = pages.mapped.find(address);
    return at != pages.mapped.end() ? at->second.handle : 0;
  }
  static void expect_nothing_left() {
    EXPECT_TRUE(pages.mapped.empty());
    EXPECT_TRUE(pages.handles.empty());
    EXPECT_TRUE(pages.reserved.empty());
    EXPECT_EQ(swap::regions.size(), 0U);
    EXPECT_EQ(swap::view_table.bytes_of_books(), 0U);
    EXPECT_EQ(bytes(MemoryKind::movable) + bytes(MemoryKind::vmm), 0U);
  }
};

}  // namespace nvs::interposer::memory::view_hooks
