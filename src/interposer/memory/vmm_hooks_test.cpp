// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/fixed.h"
#include "interposer/memory/hooks_fixture.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{2} << 20U;
constexpr std::uint64_t kBase = std::uint64_t{0x7f} << 32U;
constexpr std::uint64_t kHandle = 0x55;

class VmmHooksTest : public HooksFixture {
 protected:
  CUresult create(std::uint64_t size, CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 2}) {
    driver_.given = kHandle;
    CUmemAllocationProp prop{};
    prop.location = where;
    return hooks::cuMemCreate(&handle_, size, &prop, 0);
  }
  CUresult import() {
    driver_.given = kHandle;
    return hooks::cuMemImportFromShareableHandle(&handle_, nullptr,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  static OwnerRow first_row() {
    OwnerRow row;
    books().row(0, row);
    return row;
  }

  CUmemGenericAllocationHandle handle_ = 0;
};

TEST_F(VmmHooksTest, CreatedMemoryIsTheDevices) {
  EXPECT_EQ(create(3 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(handle_, kHandle);
  EXPECT_EQ(take_calls(), Calls{"cuMemCreate"});  // works without a context
  EXPECT_EQ(first_row().use, RowUse::device);
  EXPECT_EQ(first_row().device, 2);
  EXPECT_EQ(bytes(MemoryKind::vmm), 3 * kUnit);
  EXPECT_EQ(hooks::cuMemRelease(kHandle), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(VmmHooksTest, HostMemoryIsKeptApart) {
  create(kUnit, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0});
  EXPECT_EQ(first_row().device, kHostDevice);
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
  EXPECT_EQ(books().totals().bytes_peak, 0U);
}

TEST_F(VmmHooksTest, ErrorsAndNullsCountNothing) {
  EXPECT_EQ(hooks::cuMemCreate(nullptr, kUnit, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemImportFromShareableHandle(nullptr, nullptr, CU_MEM_HANDLE_TYPE_NONE),
            CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRetainAllocationHandle(nullptr, nullptr), CUDA_SUCCESS);
  driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(create(kUnit), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(import(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuMemRetainAllocationHandle(&handle_, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuMemUnmap(kBase, kUnit), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuMemRelease(kHandle), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(counts(MemoryKind::vmm).allocations + counts(MemoryKind::ipc).allocations, 0U);
}

TEST_F(VmmHooksTest, MemoryLivesUntilItsLastMapping) {
  create(kUnit);
  hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0);
  hooks::cuMemRelease(kHandle);
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
  driver_.during = [] { EXPECT_EQ(bytes(MemoryKind::vmm), kUnit); };
  hooks::cuMemUnmap(kBase, kUnit);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(VmmHooksTest, RefusedCallsChangeNothing) {
  create(kUnit);
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0);
  hooks::cuMemRelease(kHandle);
  driver_.result = CUDA_SUCCESS;
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
  hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0);
  hooks::cuMemRelease(kHandle);
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  hooks::cuMemUnmap(kBase, kUnit);
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
}

TEST_F(VmmHooksTest, RetainIsOneMoreReference) {
  create(kUnit);
  driver_.given = kHandle;
  hooks::cuMemRetainAllocationHandle(&handle_, nullptr);
  hooks::cuMemRelease(kHandle);
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
  hooks::cuMemRelease(kHandle);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(VmmHooksTest, ImportedMemoryIsBorrowed) {
  driver_.location = {CU_MEM_LOCATION_TYPE_DEVICE, 4};
  EXPECT_EQ(import(), CUDA_SUCCESS);
  EXPECT_EQ(take_calls(),
            (Calls{"cuMemImportFromShareableHandle", "cuMemGetAllocationPropertiesFromHandle"}));
  EXPECT_EQ(first_row().device, 4);
  hooks::cuMemMap(kBase, 2 * kUnit, 0, kHandle, 0);
  EXPECT_EQ(bytes(MemoryKind::ipc), 2 * kUnit);
  EXPECT_EQ(books().totals().bytes_peak, 0U);
  EXPECT_EQ(fixed_on(4), 0U) << "its maker has it";
  EXPECT_EQ(allocated_on(4), 0U);
  hooks::cuMemRelease(kHandle);
  hooks::cuMemUnmap(kBase, 2 * kUnit);
  EXPECT_EQ(bytes(MemoryKind::ipc), 0U);
}

TEST_F(VmmHooksTest, AMappingThatIsMadeDuringAnUnmapIsKept) {
  create(kUnit);
  hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0);
  driver_.during = [this] {
    driver_.during = nullptr;
    hooks::cuMemMap(kBase, kUnit, 0, kHandle, 0);
    hooks::cuMemRelease(kHandle);
  };
  hooks::cuMemUnmap(kBase, kUnit);
  EXPECT_EQ(bytes(MemoryKind::vmm), kUnit);
  hooks::cuMemUnmap(kBase, kUnit);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory
