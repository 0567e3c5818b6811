// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hooks_fixture.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kSharedAddress = 0x7000;
constexpr std::uint64_t kObject = 0xe0;

class ShareHooksTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    driver_.given = kSharedAddress;
    driver_.range_bytes = 4096;
  }
  CUdeviceptr address_ = 0;
};

TEST_F(ShareHooksTest, OpenedMemoryHasTheSizeThatTheDriverTells) {
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address_, {}, 1), CUDA_SUCCESS);
  EXPECT_EQ(address_, kSharedAddress);
  EXPECT_EQ(take_calls(), (Calls{"cuIpcOpenMemHandle_v2", "cuMemGetAddressRange_v2",
                                 "cuCtxGetCurrent", "cuCtxGetDevice"}));
  EXPECT_EQ(bytes(MemoryKind::ipc), 4096U);
  EXPECT_EQ(books().totals().bytes_peak, 0U);
  EXPECT_EQ(hooks::cuIpcCloseMemHandle(kSharedAddress), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::ipc), 0U);
}

TEST_F(ShareHooksTest, WhatIsOpenedTwiceIsClosedTwice) {
  hooks::cuIpcOpenMemHandle(&address_, {}, 1);
  hooks::cuIpcOpenMemHandle_v2(&address_, {}, 1);
  EXPECT_EQ(bytes(MemoryKind::ipc), 4096U);
  hooks::cuIpcCloseMemHandle(kSharedAddress);
  EXPECT_EQ(bytes(MemoryKind::ipc), 4096U);
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuIpcCloseMemHandle(kSharedAddress), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bytes(MemoryKind::ipc), 4096U);
  driver_.result = CUDA_SUCCESS;
  hooks::cuIpcCloseMemHandle(kSharedAddress);
  EXPECT_EQ(bytes(MemoryKind::ipc), 0U);
}

TEST_F(ShareHooksTest, AnUnknownSizeIsNoReasonToFail) {
  driver_.answer = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address_, {}, 1), CUDA_SUCCESS);
  EXPECT_EQ(counts(MemoryKind::ipc).count_now, 1U);
  EXPECT_EQ(bytes(MemoryKind::ipc), 0U);
}

TEST_F(ShareHooksTest, PointersOfSharedPoolsAreFreedLikeOthers) {
  EXPECT_EQ(hooks::cuMemPoolImportPointer(&address_, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::ipc), 4096U);
  EXPECT_EQ(hooks::cuMemFreeAsync(kSharedAddress, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::ipc), 0U);
}

TEST_F(ShareHooksTest, ExternalMemoryIsTheObject) {
  CUexternalMemory object = nullptr;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.size = 12345;
  driver_.given = kObject;
  EXPECT_EQ(hooks::cuImportExternalMemory(&object, &description), CUDA_SUCCESS);
  EXPECT_EQ(object, handle_of<CUexternalMemory>(kObject));
  EXPECT_EQ(bytes(MemoryKind::external), 12345U);
  driver_.result = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_EQ(hooks::cuDestroyExternalMemory(object), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(bytes(MemoryKind::external), 12345U);
  driver_.result = CUDA_SUCCESS;
  EXPECT_EQ(hooks::cuDestroyExternalMemory(object), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::external), 0U);
}

TEST_F(ShareHooksTest, ErrorsAndNullsCountNothing) {
  for (const CUresult result : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE}) {
    driver_.result = result;
    EXPECT_EQ(hooks::cuIpcOpenMemHandle(nullptr, {}, 1), result);
    EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(nullptr, {}, 1), result);
    EXPECT_EQ(hooks::cuMemPoolImportPointer(nullptr, nullptr, nullptr), result);
    EXPECT_EQ(hooks::cuImportExternalMemory(nullptr, nullptr), result);
  }
  EXPECT_EQ(hooks::cuIpcOpenMemHandle_v2(&address_, {}, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(counts(MemoryKind::ipc).allocations + counts(MemoryKind::external).allocations, 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory
