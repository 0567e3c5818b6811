// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/hooks_fixture.h"

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

}  // namespace
}  // namespace nvs::interposer::memory
