// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/sparse_maps.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kArray = 0xa0;
constexpr CUDA_ARRAY_DESCRIPTOR_v1 kNarrow{10, 4, CU_AD_FORMAT_FLOAT, 2};
constexpr CUDA_ARRAY_DESCRIPTOR kFlat{10, 4, CU_AD_FORMAT_FLOAT, 2};
constexpr CUDA_ARRAY3D_DESCRIPTOR_v1 kNarrowCube{
    8, 8, 6, CU_AD_FORMAT_HALF, 1, CUDA_ARRAY3D_CUBEMAP};
constexpr CUDA_ARRAY3D_DESCRIPTOR kCube{8, 8, 6, CU_AD_FORMAT_HALF, 1, CUDA_ARRAY3D_CUBEMAP};

class ArrayHooksTest : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    driver_.given = kArray;
  }
  void expect_array_of(std::uint64_t bytes_expected) {
    EXPECT_EQ(array_, handle_of<CUarray>(kArray));
    EXPECT_EQ(bytes(MemoryKind::array), bytes_expected);
    EXPECT_EQ(hooks::cuArrayDestroy(array_), CUDA_SUCCESS);
    EXPECT_EQ(bytes(MemoryKind::array), 0U);
  }

  CUarray array_ = nullptr;
};

TEST_F(ArrayHooksTest, AllVersionsOfDescriptors) {
  EXPECT_EQ(hooks::cuArrayCreate(&array_, &kNarrow), CUDA_SUCCESS);
  expect_array_of(320);
  EXPECT_EQ(hooks::cuArrayCreate_v2(&array_, &kFlat), CUDA_SUCCESS);
  expect_array_of(320);
  EXPECT_EQ(hooks::cuArray3DCreate(&array_, &kNarrowCube), CUDA_SUCCESS);
  expect_array_of(768);
  EXPECT_EQ(hooks::cuArray3DCreate_v2(&array_, &kCube), CUDA_SUCCESS);
  expect_array_of(768);
  EXPECT_EQ(counts(MemoryKind::array).allocations, 4U);
}

TEST_F(ArrayHooksTest, MipmappedArraysAreTheSumOfTheirLevels) {
  CUmipmappedArray mipmapped = nullptr;
  EXPECT_EQ(hooks::cuMipmappedArrayCreate(&mipmapped, &kCube, 2), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::array), 768U + 192);
  // An array of the same value is another thing.
  hooks::cuArrayCreate_v2(&array_, &kFlat);
  EXPECT_EQ(bytes(MemoryKind::array), 768U + 192 + 320);
  EXPECT_EQ(hooks::cuMipmappedArrayDestroy(mipmapped), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::array), 320U);
}

TEST_F(ArrayHooksTest, RefusedDestructionIsTakenBack) {
  CUmipmappedArray mipmapped = nullptr;
  hooks::cuArrayCreate_v2(&array_, &kFlat);
  hooks::cuMipmappedArrayCreate(&mipmapped, &kCube, 1);
  driver_.result = CUDA_ERROR_ARRAY_IS_MAPPED;
  EXPECT_EQ(hooks::cuArrayDestroy(array_), CUDA_ERROR_ARRAY_IS_MAPPED);
  EXPECT_EQ(hooks::cuMipmappedArrayDestroy(mipmapped), CUDA_ERROR_ARRAY_IS_MAPPED);
  EXPECT_EQ(bytes(MemoryKind::array), 768U + 320);
}

TEST_F(ArrayHooksTest, ErrorsAndNullsCountNothing) {
  for (const CUresult result : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE}) {
    driver_.result = result;
    EXPECT_EQ(hooks::cuArrayCreate(nullptr, nullptr), result);
    EXPECT_EQ(hooks::cuArrayCreate_v2(&array_, nullptr), result);
    EXPECT_EQ(hooks::cuArray3DCreate(nullptr, &kNarrowCube), result);
    EXPECT_EQ(hooks::cuArray3DCreate_v2(nullptr, nullptr), result);
    EXPECT_EQ(hooks::cuMipmappedArrayCreate(nullptr, nullptr, 1), result);
    EXPECT_EQ(hooks::cuArrayDestroy(nullptr), result);
    EXPECT_EQ(hooks::cuMipmappedArrayDestroy(nullptr), result);
  }
  EXPECT_EQ(hooks::cuArrayCreate_v2(&array_, &kFlat), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(counts(MemoryKind::array).allocations, 0U);
}

// A tile pool of one handle, and the arrays that it is mapped into.
class SparseArraysTest : public HooksFixture {
 protected:
  static constexpr std::uint64_t kHandle = 0x55;
  static constexpr std::uint64_t kPool = std::uint64_t{4} << 20U;

  void SetUp() override {
    HooksFixture::SetUp();
    sparse::start_over_in_child();
    set_real_for_test<Row::cuMemMapArrayAsync>(
        [](CUarrayMapInfo*, unsigned, CUstream) { return mock_driver().result; });
    driver_.given = kHandle;
    CUmemAllocationProp prop{};
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(hooks::cuMemCreate(&handle, kPool, &prop, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    sparse::start_over_in_child();
    forget<Row::cuMemMapArrayAsync>();
  }

  static CUarrayMapInfo tile(CUmemOperationType what, unsigned x, std::uint64_t array = kArray) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = handle_of<CUarray>(array);
    info.subresource.sparseLevel.offsetX = x;
    info.subresource.sparseLevel.extentWidth = 128;
    info.memOperationType = what;
    if (what == CU_MEM_OPERATION_TYPE_MAP) info.memHandle.memHandle = kHandle;
    return info;
  }
  static CUarrayMapInfo tail(CUmemOperationType what) {
    CUarrayMapInfo info = tile(what, 0);
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info.subresource.miptail = {0, 0, 128};
    return info;
  }
  static CUresult run(std::vector<CUarrayMapInfo> operations) {
    return hooks::cuMemMapArrayAsync(operations.data(), static_cast<unsigned>(operations.size()),
                                     nullptr);
  }
  void make_array(std::uint64_t handle) {
    driver_.given = handle;
    CUarray array = nullptr;
    EXPECT_EQ(hooks::cuArrayCreate_v2(&array, &kFlat), CUDA_SUCCESS);
  }
  static CUresult release() { return hooks::cuMemRelease(kHandle); }

  static constexpr auto kMap = CU_MEM_OPERATION_TYPE_MAP;
  static constexpr auto kUnmap = CU_MEM_OPERATION_TYPE_UNMAP;
};

TEST_F(SparseArraysTest, WhatIsMappedIntoOneCountsWhenItsHandleIsReleased) {
  EXPECT_EQ(run({tile(kMap, 0), tile(kMap, 128), tail(kMap)}), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(run({tile(kUnmap, 0), tail(kUnmap)}), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(run({tile(kUnmap, 256)}), CUDA_SUCCESS) << "of which nobody knows";
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(run({tile(kUnmap, 128)}), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(SparseArraysTest, WhatIsMappedAnewIsMappedOnce) {
  EXPECT_EQ(run({tile(kMap, 0), tile(kMap, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(run({tile(kUnmap, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(SparseArraysTest, AnArrayTakesItsMappingsAlong) {
  EXPECT_EQ(run({tile(kMap, 0), tile(kMap, 128), tile(kMap, 0, kArray + 1)}), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuArrayDestroy(handle_of<CUarray>(kArray)), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMipmappedArrayDestroy(handle_of<CUmipmappedArray>(kArray + 1)), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  driver_.result = CUDA_ERROR_INVALID_HANDLE;
  hooks::cuArrayDestroy(handle_of<CUarray>(kArray + 1));
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  driver_.result = CUDA_SUCCESS;
  EXPECT_EQ(hooks::cuArrayDestroy(handle_of<CUarray>(kArray + 1)), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(SparseArraysTest, SoDoesItsContext) {
  make_array(kArray);
  driver_.current = handle_of<CUcontext>(0xbeef);
  make_array(kArray + 1);
  EXPECT_EQ(run({tile(kMap, 0), tile(kMap, 128), tile(kMap, 0, kArray + 1)}), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(driver_.current), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(handle_of<CUcontext>(kContext)), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

// Another thread gets its handle before the call has returned.
TEST_F(SparseArraysTest, WhatTheNextOneHasIsItsOwn) {
  make_array(kArray);
  EXPECT_EQ(run({tile(kMap, 0), tile(kMap, 128)}), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  driver_.during = [this] {
    driver_.during = nullptr;
    make_array(kArray);
    EXPECT_EQ(run({tile(kMap, 0)}), CUDA_SUCCESS);
  };
  EXPECT_EQ(hooks::cuArrayDestroy(handle_of<CUarray>(kArray)), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), kPool);
  EXPECT_EQ(run({tile(kUnmap, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

TEST_F(SparseArraysTest, WhatTheDriverRefusesIsNotMapped) {
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(run({tile(kMap, 0)}), CUDA_ERROR_INVALID_VALUE);
  driver_.result = CUDA_SUCCESS;
  EXPECT_EQ(hooks::cuMemMapArrayAsync(nullptr, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(release(), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::vmm), 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory
