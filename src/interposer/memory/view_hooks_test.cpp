// SPDX-License-Identifier: Apache-2.0
// Memory that a program creates and maps itself, on a driver that knows what is mapped where.
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/views.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory::view_hooks {
namespace {

constexpr int kGpu = 5;  // one of its own: what a device can do is asked once
constexpr int kPeer = 7;
constexpr std::uint64_t kUnit = 2 * vmm::kMiB;
constexpr std::uint64_t kBytes = vmm::kChunkBytes + kUnit;  // of two chunks
constexpr std::uint64_t kFirst = std::uint64_t{1} << 40U;
constexpr std::uint64_t kSecond = std::uint64_t{2} << 40U;

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
Pages pages;

CUresult reserve(CUdeviceptr* out, size_t size, size_t, CUdeviceptr, unsigned long long) {
  pages.last_address += std::uint64_t{1} << 36U;
  *out = pages.last_address;
  pages.reserved.insert(*out);
  return size != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult give_up(CUdeviceptr address, size_t) {
  return pages.reserved.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult create(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp* prop,
                unsigned long long) {
  EXPECT_EQ(prop->requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(prop->allocFlags.gpuDirectRDMACapable, size > vmm::kChunkBytes) << "of what stays";
  *out = ++pages.last_handle;
  pages.handles.insert(*out);
  return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle handle) {
  if (pages.in_release) pages.in_release();
  return pages.handles.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult map(CUdeviceptr address, size_t size, size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  if (pages.maps_left >= 0 && pages.maps_left-- == 0) return CUDA_ERROR_UNKNOWN;
  if (!pages.mapped.try_emplace(address, Mapped{size, handle, {}}).second) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr address, size_t size) {
  auto at = pages.mapped.lower_bound(address);
  while (at != pages.mapped.end() && at->first < address + size) at = pages.mapped.erase(at);
  return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc* descs, size_t count) {
  for (auto& [begin, one] : pages.mapped) {
    if (begin < address || begin >= address + size) continue;
    for (size_t i = 0; i < count; ++i) one.access[descs[i].location.id] = descs[i].flags;
  }
  return CUDA_SUCCESS;
}
CUresult attribute(int* out, CUdevice_attribute, CUdevice) {
  *out = 1;
  return CUDA_SUCCESS;
}
CUresult granularity(size_t* out, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *out = kUnit;
  return CUDA_SUCCESS;
}
CUresult no_pointer(void*, CUpointer_attribute, CUdeviceptr) { return CUDA_ERROR_INVALID_VALUE; }
CUresult copy(CUdeviceptr, CUdeviceptr, size_t, CUstream) {
  ++pages.copies;
  return CUDA_SUCCESS;
}
bool broke_a_capture = false;
CUresult synchronise() {
  broke_a_capture = broke_a_capture || captures::is_any();
  return CUDA_SUCCESS;
}
CUresult make_stream(CUstream*, unsigned) { return CUDA_SUCCESS; }
CUresult nothing_of(CUstream) { return CUDA_SUCCESS; }
CUresult push(CUcontext) { return CUDA_SUCCESS; }
CUresult pop(CUcontext*) { return CUDA_SUCCESS; }
CUresult export_handle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType,
                       unsigned long long) {
  *static_cast<std::uint64_t*>(out) = handle;
  return CUDA_SUCCESS;
}

class ViewHooksTest : public HooksFixture {
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

TEST_F(ViewHooksTest, IsSeenWhereTheProgramMapsIt) {
  const auto handle = make(kBytes);
  EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  EXPECT_EQ(pages.handles.size(), 2U);
  EXPECT_EQ(pages.mapped.size(), 2U) << "at home";
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), handle_at(home_of_second()));
  EXPECT_NE(handle_at(kFirst), 0U);
  EXPECT_EQ(pages.mapped[kFirst].access, Access{}) << "nobody was given any";
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, LivesUntilItsLastView) {
  const auto handle = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, handle, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, handle, 0);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, kBytes), CUDA_SUCCESS);
  CUmemGenericAllocationHandle again = 0;
  EXPECT_EQ(hooks::cuMemRetainAllocationHandle(&again, handle_of<void*>(kSecond + 5)),
            CUDA_SUCCESS);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(hooks::cuMemUnmap(kSecond, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  expect_nothing_left();
}

// As another thread might do it, while the first of them is taken apart.
TEST_F(ViewHooksTest, WhatIsOverIsEndedOnce) {
  const CUmemGenericAllocationHandle tokens[] = {make(kBytes), make(kBytes)};
  std::uint64_t address = kFirst;
  for (const auto token : tokens) {
    hooks::cuMemMap(address, kBytes, 0, token, 0);
    std::uint64_t exported = 0;
    EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
    hooks::cuMemRelease(token);
    address += kBytes;
  }
  int releases = 0;
  pages.in_release = [&] {
    ++releases;
    CUmemAllocationProp prop{};
    for (const auto token : tokens) {
      EXPECT_EQ(hooks::cuMemRelease(token), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(hooks::cuMemGetAllocationPropertiesFromHandle(&prop, token),
                CUDA_ERROR_INVALID_VALUE);
    }
  };
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(releases, 2);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, PagesComeBackForWhoeverMayUseThem) {
  hooks::cuMemMap(kFirst, kBytes, 0, make(kBytes), 0);
  EXPECT_EQ(allow(kFirst, kGpu), CUDA_SUCCESS);
  EXPECT_EQ(swap::reached_by(kGpu), 1U << kGpu);
  EXPECT_EQ(allow(kFirst, kPeer), CUDA_SUCCESS);
  EXPECT_EQ(swap::reached_by(kGpu), (1U << kGpu) | (1U << kPeer)) << "both must stand still";
  EXPECT_EQ(swap::users_of(kGpu), 1U << kGpu) << "of other memory, no";
  const Access both{{kGpu, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                    {kPeer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  EXPECT_EQ(pages.mapped[kFirst + vmm::kChunkBytes].access, both);
  const std::uint64_t home = home_of_second();
  swap::unback(home, kUnit, handle_at(home));
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), 0U);
  EXPECT_NE(handle_at(kFirst), 0U);
  std::uint64_t handle = 0;
  EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), handle);
  EXPECT_EQ(pages.mapped[kFirst + vmm::kChunkBytes].access, both);
}

TEST_F(ViewHooksTest, NothingIsLeftOfPagesThatCannotBeShownEverywhere) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, token, 0);
  const std::uint64_t home = home_of_second();
  swap::unback(home, kUnit, handle_at(home));
  const std::size_t mapped = pages.mapped.size();
  std::uint64_t handle = 0;
  for (int good = 0; good < 3; ++good) {  // at home, and in two views
    pages.maps_left = good;
    EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(pages.mapped.size(), mapped);
    EXPECT_EQ(pages.handles.size(), 1U);
  }
  EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped.size(), mapped + 3);
}

TEST_F(ViewHooksTest, AMapThatFailsHalfWayIsUndone) {
  const auto token = make(kBytes);
  pages.maps_left = 1;
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, token, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(pages.mapped.size(), 2U);
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, token, 0), CUDA_SUCCESS);
}

TEST_F(ViewHooksTest, OnlyWholeViewsCanBeUnmappedAndAllowed) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kFirst + kBytes, kBytes, 0, token, 0);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  for (const std::uint64_t size : {vmm::kChunkBytes, kBytes + vmm::kChunkBytes}) {
    EXPECT_EQ(hooks::cuMemUnmap(kFirst, size), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(hooks::cuMemSetAccess(kFirst, size, &access, 1), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(hooks::cuMemAddressFree(kFirst, 4 * kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemMap(kFirst + kUnit, kUnit, 0, 77, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemSetAccess(kFirst, 2 * kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped[kFirst + kBytes].access.at(kGpu), CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped.size(), 2U) << "at home";
}

TEST_F(ViewHooksTest, HomesAreNobodysToTouch) {
  make(kBytes);
  const std::uint64_t home = home_of_second();
  EXPECT_EQ(hooks::cuMemUnmap(home, kUnit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAddressFree(home, kUnit), CUDA_ERROR_INVALID_VALUE);
  std::uint64_t value = 0;
  EXPECT_EQ(hooks::cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, home),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ViewHooksTest, MoreThanThereWillEverBeIsRefused) {
  swap::rooms[kGpu].total = swap::rooms[kGpu].limit = kBytes;
  make(2 * kBytes, CUDA_ERROR_OUT_OF_MEMORY);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, ACaptureIsWaitedForAndNotBroken) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  const auto captured = handle_of<CUstream>(0x77);
  captures::begins();
  captures::begun(captured, driver_.current, CUDA_SUCCESS);
  ASSERT_TRUE(captures::is_any());
  broke_a_capture = false;
  std::thread capturing([captured] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    captures::ended(captured);
  });
  std::uint64_t exported = 0;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  capturing.join();
  EXPECT_FALSE(broke_a_capture);
  EXPECT_EQ(handle_at(kFirst), exported);
  hooks::cuMemUnmap(kFirst, kBytes);
  hooks::cuMemRelease(token);
}

TEST_F(ViewHooksTest, AllOfItInOneHandleShowsInEveryView) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, token, 0);
  allow(kFirst, kGpu);
  const auto before = pages.mapped;
  std::uint64_t exported = 0;
  for (int good = 0; good < 3; ++good) {  // for the copy, and in two views
    pages.maps_left = good;
    EXPECT_EQ(give_out(token, exported), CUDA_ERROR_UNKNOWN);
    EXPECT_TRUE(pages.mapped == before);
    EXPECT_EQ(pages.handles.size(), 2U);
    EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  }
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_GT(pages.copies, 0);
  EXPECT_EQ(pages.handles, std::set<std::uint64_t>{exported});
  EXPECT_EQ(pages.mapped.size(), 2U);
  EXPECT_EQ(handle_at(kFirst), exported);
  EXPECT_EQ(handle_at(kSecond), exported);
  EXPECT_EQ(pages.mapped[kFirst].access.at(kGpu), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(pages.mapped[kSecond].access, Access{});
  EXPECT_EQ(swap::regions.size(), 0U);
  EXPECT_EQ(bytes(MemoryKind::movable), 0U);
  EXPECT_EQ(bytes(MemoryKind::vmm), kBytes);
  const std::uint64_t first = exported;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_EQ(exported, first) << "there is only one";
  hooks::cuMemRelease(token);
  EXPECT_EQ(give_out(token, exported), CUDA_ERROR_INVALID_VALUE) << "it was released";
  hooks::cuMemUnmap(kFirst, kBytes);
  EXPECT_EQ(bytes(MemoryKind::vmm), kBytes);
  hooks::cuMemUnmap(kSecond, kBytes);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, OneChunkHasItsHandleAlready) {
  const auto token = make(kUnit);
  hooks::cuMemMap(kFirst, kUnit, 0, token, 0);
  std::uint64_t exported = 0;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_EQ(exported, handle_at(kFirst));
  EXPECT_EQ(pages.copies, 0);
  EXPECT_EQ(swap::regions.pinned(kGpu).total(), kUnit);
  hooks::cuMemUnmap(kFirst, kUnit);
  hooks::cuMemRelease(token);
  expect_nothing_left();
}

}  // namespace
}  // namespace nvs::interposer::memory::view_hooks
