// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/array_size.h"

#include <gtest/gtest.h>

namespace nvs::interposer::memory {
namespace {

CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height, std::size_t depth,
                              CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8,
                              unsigned channels = 1, unsigned flags = 0) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = width;
  descriptor.Height = height;
  descriptor.Depth = depth;
  descriptor.Format = format;
  descriptor.NumChannels = channels;
  descriptor.Flags = flags;
  return descriptor;
}

std::uint64_t square_bytes(CUarray_format format, unsigned channels = 1) {
  return array_bytes(shape(16, 16, 0, format, channels));
}
std::uint64_t square_bytes(SampledFormat format, unsigned channels) {
  return square_bytes(static_cast<CUarray_format>(format), channels);
}

TEST(ArraySizeTest, OneTwoAndThreeDimensions) {
  EXPECT_EQ(array_bytes(shape(100, 0, 0)), 100U);
  EXPECT_EQ(array_bytes(shape(100, 7, 0)), 700U);
  EXPECT_EQ(array_bytes(shape(100, 7, 3)), 2100U);
  EXPECT_EQ(array_bytes(shape(100, 0, 3, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED)), 1200U);
  EXPECT_EQ(array_bytes(shape(8, 8, 6, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_CUBEMAP)), 6144U);
  EXPECT_EQ(array_bytes(shape(65536, 65536, 16, CU_AD_FORMAT_FLOAT, 4)), std::uint64_t{1} << 40U);
}

TEST(ArraySizeTest, ChannelsOfPlainFormats) {
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNSIGNED_INT8, 4), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_SIGNED_INT8, 2), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNSIGNED_INT16, 1), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_SIGNED_INT16, 4), 2048U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_HALF, 2), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNSIGNED_INT32, 1), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_SIGNED_INT32, 2), 2048U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_FLOAT, 4), 4096U);
}

TEST(ArraySizeTest, FormatsWithChannelsInTheirName) {
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNORM_INT8X1), 256U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNORM_INT8X2, 2), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_SNORM_INT8X4, 4), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNORM_INT16X1), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_SNORM_INT16X2, 2), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNORM_INT16X4, 4), 2048U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_UNORM_INT_101010_2, 4), 1024U);
}

TEST(ArraySizeTest, CompressedFormatsCountBlocksOfFourByFour) {
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC1_UNORM, 4), 128U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC1_UNORM_SRGB, 4), 128U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC2_UNORM, 4), 256U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC3_UNORM_SRGB, 4), 256U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC4_SNORM), 128U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC5_UNORM, 2), 256U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC6H_UF16, 3), 256U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_BC7_UNORM, 4), 256U);
  // Blocks at the edges are whole.
  EXPECT_EQ(array_bytes(shape(5, 3, 0, CU_AD_FORMAT_BC1_UNORM, 4)), 16U);
}

TEST(ArraySizeTest, VideoFormatsCountTheirColourPlane) {
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_NV12, 3), 384U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_P010, 3), 768U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_P016, 3), 768U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_NV16, 3), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_P210, 3), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_P216, 3), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_YUY2, 3), 512U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_Y210, 3), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_AYUV, 4), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_Y410, 4), 1024U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_Y416, 4), 2048U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_Y444_PLANAR8, 3), 768U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_Y444_PLANAR10, 3), 1536U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_YUV444_8bit_SemiPlanar, 3), 768U);
  EXPECT_EQ(square_bytes(CU_AD_FORMAT_YUV444_16bit_SemiPlanar, 3), 1536U);
  // Odd sizes: the colour plane is rounded up.
  EXPECT_EQ(array_bytes(shape(3, 3, 0, CU_AD_FORMAT_NV12, 3)), 17U);
}

TEST(ArraySizeTest, SumOfLevels) {
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 8, 0), 1), 64U);
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 8, 0), 3), 64U + 16 + 4);
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 4, 2), 3), 64U + 8 + 2);
  EXPECT_EQ(mipmapped_array_bytes(shape(5, 0, 0), 3), 5U + 2 + 1);
}

TEST(ArraySizeTest, LevelsAreHeldToWhatThereCanBe) {
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 8, 0), 0), 64U);
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 8, 0), 99), 64U + 16 + 4 + 1);
  EXPECT_EQ(mipmapped_array_bytes(shape(2, 2, 8), 99), 32U + 4 + 2 + 1);
}

TEST(ArraySizeTest, LayersStayAtEveryLevel) {
  const auto layered = shape(4, 4, 5, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED);
  EXPECT_EQ(mipmapped_array_bytes(layered, 99), 80U + 20 + 5);
  const auto cube = shape(4, 4, 6, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_CUBEMAP);
  EXPECT_EQ(mipmapped_array_bytes(cube, 2), 96U + 24);
}

TEST(ArraySizeTest, CompressedLevelsKeepAWholeBlock) {
  EXPECT_EQ(mipmapped_array_bytes(shape(8, 8, 0, CU_AD_FORMAT_BC1_UNORM, 4), 99), 32U + 8 + 8 + 8);
}

TEST(ArraySizeTest, SparseAndDeferredArraysHoldNothingYet) {
  const auto format = CU_AD_FORMAT_FLOAT;
  EXPECT_EQ(array_bytes(shape(64, 64, 0, format, 4, CUDA_ARRAY3D_SPARSE)), 0U);
  EXPECT_EQ(array_bytes(shape(64, 64, 0, format, 4, CUDA_ARRAY3D_DEFERRED_MAPPING)), 0U);
  EXPECT_EQ(mipmapped_array_bytes(shape(64, 64, 0, format, 4, CUDA_ARRAY3D_SPARSE), 4), 0U);
}

TEST(ArraySizeTest, FormatsThatSayHowTheyAreSampled) {
  EXPECT_EQ(square_bytes(SampledFormat::uint8_packed_422, 4), 1024U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_packed_444, 4), 1024U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_semi_planar_420, 3), 384U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_semi_planar_420, 3), 768U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_semi_planar_422, 3), 512U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_semi_planar_422, 3), 1024U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_semi_planar_444, 3), 768U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_semi_planar_444, 3), 1536U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_planar_420, 3), 384U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_planar_420, 3), 768U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_planar_422, 3), 512U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_planar_422, 3), 1024U);
  EXPECT_EQ(square_bytes(SampledFormat::uint8_planar_444, 3), 768U);
  EXPECT_EQ(square_bytes(SampledFormat::uint16_planar_444, 3), 1536U);
}

TEST(ArraySizeTest, FormatsOfLaterVersionsCountFourBytesAChannel) {
  EXPECT_EQ(square_bytes(static_cast<CUarray_format>(0x7e)), 1024U);
  EXPECT_EQ(square_bytes(static_cast<CUarray_format>(0x7e), 4), 4096U);
  EXPECT_EQ(square_bytes(static_cast<CUarray_format>(0x7e), 0), 1024U);
}

}  // namespace
}  // namespace nvs::interposer::memory
