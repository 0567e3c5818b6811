// SPDX-License-Identifier: Apache-2.0
// Memory that goes to other processes and comes from them, under a limit on the tenant's memory.
#include <algorithm>

#include <sys/mman.h>

#include "base/unique_fd.h"
#include "interposer/memory/fake_account.h"
#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/piece_names.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory::shared_limits {
namespace {

using account::FakeAccount;

constexpr std::uint64_t kId = 0x7000;
constexpr std::uint64_t kAddress = std::uint64_t{1} << 40U;
constexpr std::size_t kBytes = 1000;
constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// A daemon has sent the account; the driver's own memory is used.
class SharedLimitTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    forget<Row::cuPointerGetAttribute>();
    session::memory_start_over_in_child();
    driver_.given = kId;
    driver_.range_bytes = kBytes;
    session::memory_announces(0);
    session::memory_known(0, false);
    account_.lend();
    account::gpu_numbered(0, 0);
  }
  void TearDown() override {
    session::memory_start_over_in_child();
    books().after_fork();
  }
  CUresult import() {
    CUmemGenericAllocationHandle handle = 0;
    return hooks::cuMemImportFromShareableHandle(
        &handle, handle_of<void*>(static_cast<std::uint64_t>(file_.get())), kFile);
  }
  std::uint64_t shared() const { return bytes_in_pieces(account_.pieces(), 0, ~std::uint64_t{0}); }
  bool was_asked(const char* name) {
    const Calls calls = take_calls();
    return std::find(calls.begin(), calls.end(), name) != calls.end();
  }

  FakeAccount account_{kBytes};
  UniqueFd file_{::memfd_create("memory", MFD_CLOEXEC)};
};

TEST_F(SharedLimitTest, WhatIsExportedIsTaggedAndImportedForNothing) {
  set_real_for_test<Row::cuMemExportToShareableHandle>(
      [](void* out, CUmemGenericAllocationHandle file, CUmemAllocationHandleType,
         unsigned long long) {
        *static_cast<int*>(out) = static_cast<int>(file);
        return CUDA_SUCCESS;
      });
  CUmemAllocationProp prop{};
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  prop.allocFlags.compressionType = 1;  // the driver's own
  CUmemGenericAllocationHandle handle = 0;
  driver_.given = static_cast<std::uint64_t>(file_.get());
  ASSERT_EQ(hooks::cuMemCreate(&handle, kBytes, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(account_.used(), kBytes);
  int file = -1;
  ASSERT_EQ(hooks::cuMemExportToShareableHandle(&file, handle, kFile, 0), CUDA_SUCCESS);
  EXPECT_EQ(account_.used(), 0U);
  EXPECT_EQ(shared(), kBytes);
  driver_.given = kId;
  EXPECT_EQ(import(), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
  EXPECT_EQ(hooks::cuMemRelease(kId), CUDA_SUCCESS);
  EXPECT_EQ(shared(), 0U);
  forget<Row::cuMemExportToShareableHandle>();
}

TEST_F(SharedLimitTest, WhatOthersMadeMustFit) {
  ASSERT_TRUE(write_tag(file_.get(), {new_piece_name(), kBytes}));
  account_.set_limit(kBytes - 1);
  EXPECT_EQ(import(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(was_asked("cuMemRelease"));
  EXPECT_EQ(shared() + counts(MemoryKind::ipc).count_now, 0U);
  account_.set_limit(kBytes);
  EXPECT_EQ(import(), CUDA_SUCCESS);
  driver_.given = kId + 1;
  EXPECT_EQ(import(), CUDA_SUCCESS) << "the same memory";
  EXPECT_EQ(shared(), kBytes);
}

TEST_F(SharedLimitTest, WithoutATagTheFirstMappingTells) {
  account_.set_limit(kBytes - 1);
  EXPECT_EQ(import(), CUDA_SUCCESS);
  take_calls();
  EXPECT_EQ(hooks::cuMemMap(kAddress, kBytes, 0, kId, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(was_asked("cuMemMap"));
  account_.set_limit(kBytes);
  EXPECT_EQ(hooks::cuMemMap(kAddress, kBytes, 0, kId, 0), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
  driver_.given = kId + 1;
  EXPECT_EQ(import(), CUDA_SUCCESS) << "it has a tag by now";
  EXPECT_EQ(hooks::cuMemMap(2 * kAddress, kBytes, 0, kId + 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
}

TEST_F(SharedLimitTest, WithoutALimitNothingIsRefused) {
  account_.set_limit(wire::kUnlimited);
  ASSERT_TRUE(write_tag(file_.get(), {new_piece_name(), kBytes}));
  EXPECT_EQ(import(), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
}

TEST_F(SharedLimitTest, HandlesAreNames) {
  CUdeviceptr address = 0;
  CUipcMemHandle handle{};
  handle.reserved[5] = 1;
  account_.set_limit(kBytes - 1);
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(was_asked("cuIpcCloseMemHandle"));
  account_.set_limit(kBytes);
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
  hooks::cuIpcCloseMemHandle(address);
  EXPECT_EQ(shared(), kBytes);
  hooks::cuIpcCloseMemHandle(address);
  EXPECT_EQ(shared(), 0U);
}

TEST_F(SharedLimitTest, PointersOfPoolsHaveThemToo) {
  set_real_for_test<Row::cuMemPoolExportPointer>([](CUmemPoolPtrExportData* out, CUdeviceptr) {
    *out = {};
    out->reserved[0] = 7;
    return CUDA_SUCCESS;
  });
  CUdeviceptr address = 0;
  CUmemPoolPtrExportData data{};
  ASSERT_EQ(hooks::cuMemAllocFromPoolAsync(&address, kBytes, handle_of<CUmemoryPool>(9), nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(hooks::cuMemPoolExportPointer(&data, address), CUDA_SUCCESS);
  EXPECT_EQ(account_.used(), 0U);
  driver_.given = kId + kBytes;  // as in another process
  EXPECT_EQ(hooks::cuMemPoolImportPointer(&address, nullptr, &data), CUDA_SUCCESS);
  EXPECT_EQ(shared(), kBytes);
  data.reserved[0] = 8;
  driver_.given = kId + 2 * kBytes;
  EXPECT_EQ(hooks::cuMemPoolImportPointer(&address, nullptr, &data), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(was_asked("cuMemFree_v2"));
  forget<Row::cuMemPoolExportPointer>();
}

}  // namespace
}  // namespace nvs::interposer::memory::shared_limits
